// One executable of the sources for all tests of a run that start the service or a command as a process: it starts in a third of
// the time. Files that the sources read from the checkout are still read there.

import { dirname, join } from 'node:path';
import type { BunPlugin } from 'bun';
import { workerNames } from '../../src/threads/threads.ts';
import { versionOfCheckout } from '../../src/version.ts';
import { rootDirectory } from '../check.ts';

const NAME_IN_ENVIRONMENT = 'TEST_EXECUTABLE';

/** Builds it as bin/build.ts does. Returns the variables that tests need to use it. */
export async function buildExecutable(directory: string): Promise<Record<string, string>> {
  const outfile = join(directory, 'turnpike');
  await Bun.build({
    entrypoints: ['main', ...workerNames.map((name) => `threads/${name}`)].map((name) =>
      join(rootDirectory, 'src', `${name}.ts`),
    ),
    naming: '[name].[ext]',
    target: 'bun',
    format: 'esm',
    minify: true,
    splitting: true,
    bytecode: true,
    plugins: [keepPlaces],
    define: { TURNPIKE_VERSION: JSON.stringify(versionOfCheckout(rootDirectory)) },
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
  });
  return { [NAME_IN_ENVIRONMENT]: outfile };
}

/** The executable of this run of the tests; undefined if they run without test/run.ts. */
export const executable = process.env[NAME_IN_ENVIRONMENT];

/** The command line of the service: the executable, or the sources if there is none or Bun needs flags of its own. */
export function turnpikeCommand(bunFlags: readonly string[] = []): string[] {
  if (executable !== undefined && bunFlags.length === 0) return [executable];
  return [process.execPath, ...bunFlags, join(rootDirectory, 'src/main.ts')];
}

const keepPlaces: BunPlugin = {
  name: 'places in the checkout',
  setup: (build) => {
    build.onLoad({ filter: /\/src\/(?:console|licenses)\/[\w-]+\.ts$/ }, async ({ path }) => {
      const text = await Bun.file(path).text();
      const contents = text
        .replaceAll('import.meta.dir', JSON.stringify(dirname(path)))
        .replaceAll('process.execPath', JSON.stringify(process.execPath)); // builds the console
      return { contents, loader: 'ts' };
    });
  },
};
