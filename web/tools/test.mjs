// Runs src/**/*.test.ts: each is bundled by the esbuild that Vite brings, and run by Node's own test runner.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const folder = 'src/lib';
const tests = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
const out = mkdtempSync(join(tmpdir(), 'schedulearn-page-'));
try {
  await build({
    entryPoints: tests.map((name) => join(folder, name)),
    bundle: true,
    platform: 'node',
    format: 'esm',
    outdir: out,
    outExtension: { '.js': '.mjs' },
    logLevel: 'warning'
  });
  const files = tests.map((name) => join(out, `${basename(name, '.ts')}.mjs`));
  process.exitCode = spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
