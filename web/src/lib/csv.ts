// Comma-separated values, as the program writes and reads them.

export const csvOf = (rows: string[][]): string =>
  rows.map((row) => row.map((field) => (/[",\n\r]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',') + '\n').join('');

export function rowsIn(text: string): string[][] {
  const rows: string[][] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line === '') continue;
    const fields: string[] = [];
    for (const [, quoted, plain, end] of line.matchAll(/(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/g)) {
      fields.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
      if (end === '') break;
    }
    rows.push(fields);
  }
  return rows;
}
