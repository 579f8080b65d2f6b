// node tools/pack.mjs DIST PACK: packs the built files into one, compressed where that helps (src/web/page.h).
// index.html stays as it is: the controller writes into it where it was asked for.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain'
};

const filesOf = (folder, prefix = '') =>
  readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory() ? filesOf(join(folder, entry.name), `${prefix}${entry.name}/`) : [prefix + entry.name]
    );

const [dist, pack] = process.argv.slice(2);
const lines = ['schedulearn-page 1'];
const contents = [];
for (const path of filesOf(dist)) {
  const bytes = readFileSync(join(dist, path));
  const type = types[extname(path)];
  if (!type || /\s/.test(path)) throw new Error(`${path}: files of this kind are not served`);
  const compressed = gzipSync(bytes, { level: 9 });
  const isGzip = path !== 'index.html' && compressed.length < bytes.length;
  const lasting = path.startsWith('assets/') ? 'immutable' : 'changing'; // Vite names these by their contents
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const kept = isGzip ? compressed : bytes;
  lines.push([path, type, isGzip ? 'gzip' : 'identity', lasting, kept.length, digest].join(' '));
  contents.push(kept);
}
writeFileSync(pack, Buffer.concat([Buffer.from(`${lines.join('\n')}\n\n`), ...contents]));
