// `npm run build`: makes dist/turnpike, one executable with the runtime, the program and its threads, for the kind of
// machine that it is built on. `npm run build -- FILE` writes it elsewhere. The same sources and packages give the same
// bytes in any directory, if node_modules is no link.

import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { BunPlugin } from 'bun';
import type { Manifest } from '../src/console/built-files.ts';
import { collectNotices } from '../src/licenses/licenses.ts';
import { workerNames } from '../src/threads/threads.ts';
import { developmentVersion, versionOfCheckout } from '../src/version.ts';
import { bundleConsole } from './bundle-console.ts';

const root = join(import.meta.dir, '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    commit: { type: 'string' }, // for a development build without git, such as in an image
    target: { type: 'string' }, // another kind of machine, as Bun names it: "bun-linux-arm64"
    runtime: { type: 'string' }, // the Bun of that kind
  },
});
const file = resolve(positionals[0] ?? join(root, 'dist', 'turnpike'));
const { version: packageVersion } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const version =
  values.commit === undefined
    ? versionOfCheckout(root)
    : developmentVersion(packageVersion, values.commit.slice(0, 12));
const { target, runtime } = values;
if ((target === undefined) !== (runtime === undefined)) throw new Error('--target and --runtime belong together');
const forTarget =
  target === undefined || runtime === undefined
    ? {}
    : { target: target as Bun.Build.CompileTarget, executablePath: resolve(runtime) };

const BROTLI_QUALITY_MAX = 11;
const workers = workerNames.map((name) => join(root, 'src/threads', `${name}.ts`));
mkdirSync(dirname(file), { recursive: true });
const making = mkdtempSync(join(dirname(file), '.making-'));
try {
  const { success, logs } = await Bun.build({
    entrypoints: [join(root, 'bin', 'executable.ts'), ...workers],
    naming: '[name].[ext]', // in one directory, as src/threads/threads.ts expects
    target: 'bun',
    format: 'esm',
    minify: true,
    splitting: true, // a command loads only the code that it needs
    bytecode: true, // 8 MB more, and commands start in a fifth of the time
    plugins: [embedConsole(await bundleConsole(BROTLI_QUALITY_MAX)), embedNotices()],
    define: { TURNPIKE_VERSION: JSON.stringify(version) },
    // The name is part of the bytes. Files in the current directory must not change what runs.
    compile: { ...forTarget, outfile: join(making, 'turnpike'), autoloadDotenv: false, autoloadBunfig: false },
    throw: false,
  });
  for (const log of logs) console.error(String(log));
  if (!success) throw new Error('the bundler failed; its messages are above');
  renameSync(join(making, 'turnpike'), file);
} finally {
  rmSync(making, { recursive: true, force: true });
}

const megabytes = Math.round(statSync(file).size / 1e6);
const machine = target?.replace('bun-', '') ?? `${process.platform}-${process.arch}`;
console.log(`${relative(process.cwd(), file)}: turnpike ${version} for ${machine}, ${megabytes} MB`);

/** Embeds the licenses of the packages: src/licenses/embedded-notices.ts becomes them. */
function embedNotices(): BunPlugin {
  const contents = `export const embeddedNotices = ${JSON.stringify(collectNotices(root))};\n`;
  return {
    name: 'notices',
    setup: (build) => {
      build.onLoad({ filter: /licenses\/embedded-notices\.ts$/ }, () => ({ contents, loader: 'ts' }));
    },
  };
}

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
