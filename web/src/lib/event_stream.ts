// Server-sent events over fetch: unlike EventSource it can send headers, and notices a connection that went silent.

export interface Message {
  id: string | null;
  event: string;
  data: string;
}

// Cuts a text that arrives in pieces into messages.
export class MessageReader {
  private rest = '';

  read(piece: string): Message[] {
    this.rest += piece;
    const messages: Message[] = [];
    let begin = 0;
    for (let end = this.rest.indexOf('\n\n'); end >= 0; end = this.rest.indexOf('\n\n', begin)) {
      const message = MessageReader.parse(this.rest.slice(begin, end));
      if (message) messages.push(message);
      begin = end + 2;
    }
    this.rest = this.rest.slice(begin);
    return messages;
  }

  // Null for a comment.
  private static parse(text: string): Message | null {
    const message: Message = { id: null, event: 'message', data: '' };
    const data: string[] = [];
    for (const line of text.split('\n')) {
      const colon = line.indexOf(':');
      if (colon <= 0) continue;
      const value = line.slice(colon + 1).replace(/^ /, '');
      const field = line.slice(0, colon);
      if (field === 'id') message.id = value;
      if (field === 'event') message.event = value;
      if (field === 'data') data.push(value);
    }
    message.data = data.join('\n');
    return data.length > 0 ? message : null;
  }
}

// Reads one connection to its end. Ends with an error if nothing arrives for `silence_ms`.
export async function readStream(
  response: Response,
  onMessage: (message: Message) => void,
  silence_ms: number,
  stop: AbortController
): Promise<void> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const messages = new MessageReader();
  let watchdog = setTimeout(() => stop.abort(), silence_ms);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => stop.abort(), silence_ms);
      for (const message of messages.read(value)) onMessage(message);
    }
  } finally {
    clearTimeout(watchdog);
  }
}
