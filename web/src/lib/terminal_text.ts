// Output of a job as lines of coloured text. Everything a terminal would obey and this cannot show is dropped: nothing
// of it is ever interpreted as markup, and cursor movements, titles, links and device requests have no effect.

export interface Span {
  text: string;
  classes: string; // of app.css: "t-fg1 t-bold"
}

export interface Style {
  fg: string;
  bg: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

export const plain: Style = {
  fg: '',
  bg: '',
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false
};

// A control sequence with its parameters and final letter; a string command (title, link) up to its end; or another
// escape of two characters. What is cut off by the end of the line is dropped whole.
// eslint-disable-next-line no-control-regex
const escape =
  /(?:\x1b\[|\x9b)([0-9;:?<=>!]*)[ -/]*([@-~]?)|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)|\x1b[ -/]*[0-~]?/g;
// eslint-disable-next-line no-control-regex
// eslint-disable-next-line no-control-regex
const anyControl = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

// Whether there is something in it that a terminal would obey, and not show.
export const isObeyed = (raw: string): boolean => anyControl.test(raw);

// What a terminal would obey as signs that show it: ESC as U+241B; those of the second set and of direction by their number.
export const withSigns = (raw: string): string =>
  raw.replace(controls, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : `<${code.toString(16)}>`;
  });

export class TerminalText {
  constructor(private at: Style = plain) {}

  // What the next line begins with; never changed later.
  get style(): Style {
    return this.at;
  }

  // One line without its line break. The style goes on in the next line.
  line(raw: string): Span[] {
    const spans: Span[] = [];
    let at = 0;
    for (const match of raw.matchAll(escape)) {
      this.add(spans, raw.slice(at, match.index));
      at = match.index + match[0].length;
      if (match[2] === 'm') this.apply(match[1] ?? '');
    }
    this.add(spans, raw.slice(at));
    return spans;
  }

  private add(spans: Span[], text: string): void {
    const shown = text.replace(controls, '');
    if (!shown) return;
    const classes = this.classes();
    const last = spans.at(-1);
    if (last && last.classes === classes) last.text += shown;
    else spans.push({ text: shown, classes });
  }

  private classes(): string {
    const { fg, bg, bold, dim, italic, underline, inverse } = this.at;
    const names: string[] = [];
    if (fg) names.push(`t-fg${fg}`);
    if (bg) names.push(`t-bg${bg}`);
    if (bold) names.push('t-bold');
    if (dim) names.push('t-dim');
    if (italic) names.push('t-italic');
    if (underline) names.push('t-underline');
    if (inverse) names.push('t-inverse');
    return names.join(' ');
  }

  private apply(parameters: string): void {
    const codes = parameters.split(/[;:]/).map((text) => Number(text || 0));
    const style = { ...this.at };
    this.at = style;
    for (let i = 0; i < codes.length; i += 1) {
      const code = codes[i] ?? 0;
      if (code === 0) Object.assign(style, plain);
      else if (code === 1) style.bold = true;
      else if (code === 2) style.dim = true;
      else if (code === 3) style.italic = true;
      else if (code === 4) style.underline = true;
      else if (code === 7) style.inverse = true;
      else if (code === 22) style.bold = style.dim = false;
      else if (code === 23) style.italic = false;
      else if (code === 24) style.underline = false;
      else if (code === 27) style.inverse = false;
      else if (code >= 30 && code <= 37) style.fg = String(code - 30);
      else if (code >= 90 && code <= 97) style.fg = String(code - 82);
      else if (code === 39) style.fg = '';
      else if (code >= 40 && code <= 47) style.bg = String(code - 40);
      else if (code >= 100 && code <= 107) style.bg = String(code - 92);
      else if (code === 49) style.bg = '';
      else if (code === 38 || code === 48) {
        const isPalette = codes[i + 1] === 5;
        const colour = isPalette ? paletteOf(codes[i + 2] ?? 0) : nearest(codes.slice(i + 2, i + 5));
        if (code === 38) style.fg = colour;
        else style.bg = colour;
        i += isPalette ? 2 : 4;
      }
    }
  }
}

// Of 256 colours and of true colour, the nearest of the sixteen: those are legible in both themes.
function paletteOf(index: number): string {
  if (index < 16) return String(Math.max(0, index));
  if (index >= 232) return index < 238 ? '0' : index < 244 ? '8' : index < 250 ? '7' : '15';
  const cube = index - 16;
  const level = (n: number): number => (n === 0 ? 0 : 55 + n * 40);
  return nearest([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)]);
}

function nearest([r = 0, g = 0, b = 0]: number[]): string {
  const most = Math.max(r, g, b);
  const least = Math.min(r, g, b);
  if (most - least < 40) return most < 64 ? '0' : most < 144 ? '8' : most < 216 ? '7' : '15';
  const middle = (most + least) / 2;
  const hue = (r > middle ? 1 : 0) + (g > middle ? 2 : 0) + (b > middle ? 4 : 0);
  return String(hue + (most > 200 ? 8 : 0));
}

// Of a line that a carriage return has overwritten, what a terminal shows at the end, and how often it was rewritten.
export function collapse(raw: string): { text: string; rewrites: number } {
  const parts = raw.replace(/\r+$/, '').split('\r');
  return { text: parts.at(-1) ?? '', rewrites: parts.length - 1 };
}
