// `npm run build`: makes dist/turnpike, one executable with the runtime, the program and its threads, for the kind of
// machine that it is built on. `npm run build -- FILE` writes it elsewhere.

import { readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { BunPlugin } from 'bun';
import type { Manifest } from '../src/console/built-files.ts';
import { bundleConsole } from './bundle-console.ts';

const root = join(import.meta.dir, '..');
const target = resolve(process.argv[2] ?? join(root, 'dist', 'turnpike'));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

const workers = ['ledger-worker', 'report-worker', 'backup-worker', 'sign-in-worker', 'tokenizer-worker'].map((name) =>
  join(root, 'src', `${name}.ts`),
);
const { success, logs } = await Bun.build({
  entrypoints: [join(root, 'bin', 'executable.ts'), ...workers],
  naming: '[name].[ext]', // in one directory, as src/worker-scripts.ts expects
  target: 'bun',
  format: 'esm',
  minify: true,
  splitting: true, // a command loads only the code that it needs
  bytecode: true, // 8 MB more, and commands start in a fifth of the time
  plugins: [embedConsole(await bundleConsole())],
  define: { TURNPIKE_VERSION: JSON.stringify(version) },
  // Files in the current directory must not change what runs.
  compile: { outfile: target, autoloadDotenv: false, autoloadBunfig: false },
  throw: false,
});
for (const log of logs) console.error(String(log));
if (!success) process.exit(1);

const megabytes = Math.round(statSync(target).size / 1e6);
console.log(
  `${relative(process.cwd(), target)}: turnpike ${version} for ${process.platform}-${process.arch}, ${megabytes} MB`,
);

/** Embeds the console's files: src/console/embedded-files.ts becomes their manifest. */
function embedConsole(directory: string): BunPlugin {
  const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as Manifest;
  const paths = Object.values(manifest).flatMap(({ path, encoded }) => [path, ...Object.values(encoded)]);
  const names = new Map(paths.map((path, at) => [path, `file${at}`]));
  const imports = [...names].map(
    ([path, name]) => `import ${name} from ${JSON.stringify(path)} with { type: 'file' };`,
  );
  const rows = Object.entries(manifest).map(([name, { type, path, encoded }]) => {
    const forms = Object.entries(encoded).map(([encoding, form]) => `${JSON.stringify(encoding)}: ${names.get(form)}`);
    const members = [`type: ${JSON.stringify(type)}`, `path: ${names.get(path)}`, `encoded: { ${forms.join(', ')} }`];
    return `${JSON.stringify(name)}: { ${members.join(', ')} },`;
  });
  const contents = `${imports.join('\n')}\nexport const embeddedFiles = {\n${rows.join('\n')}\n};\n`;
  return {
    name: 'console',
    setup: (build) => {
      build.onLoad({ filter: /console\/embedded-files\.ts$/ }, () => ({ contents, loader: 'ts' }));
    },
  };
}
