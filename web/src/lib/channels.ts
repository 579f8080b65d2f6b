// Channels of notifications: what each kind asks for.

export interface ChannelField {
  key: 'url' | 'secret' | 'to' | 'login' | 'from';
  label: string;
  placeholder: string;
  required?: boolean;
  note?: string;
}

export interface ChannelKind {
  kind: string;
  title: string;
  flag: string; // of `schedulearn notify add`
  fields: ChannelField[];
}

export const channelKinds: ChannelKind[] = [
  {
    kind: 'slack',
    title: 'Slack, or what takes its hooks',
    flag: '--slack',
    fields: [
      { key: 'secret', label: 'Secret', placeholder: 'hook-url', required: true, note: 'whose value is the URL of the hook' },
      { key: 'to', label: 'Room', placeholder: '#vision', note: 'where the hook lets its sender choose' }
    ]
  },
  {
    kind: 'webhook',
    title: 'Webhook',
    flag: '--webhook',
    fields: [
      { key: 'url', label: 'Address', placeholder: 'https://lab.example/hook', required: true },
      { key: 'secret', label: 'Secret', placeholder: 'hook-key', required: true, note: 'whose value is the key that signs' }
    ]
  },
  {
    kind: 'mail',
    title: 'E-mail',
    flag: '--mail',
    fields: [
      { key: 'to', label: 'Address', placeholder: 'mei@lab.example', required: true },
      { key: 'url', label: 'Mail server', placeholder: 'smtp://mail.lab:587', required: true },
      { key: 'login', label: 'Login', placeholder: 'mei' },
      { key: 'secret', label: 'Secret', placeholder: 'mail-password', note: 'whose value is the password of the login' },
      { key: 'from', label: 'From', placeholder: 'schedulearn@lab.example' }
    ]
  }
];

export const channelEvents = ['finished', 'failed', 'succeeded', 'cancelled', 'started', 'preempted', 'suspended', 'migrated', 'resized'];
