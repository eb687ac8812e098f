// Preloaded into a program that a test runs as a later release: its tables have one version more.

import { plugin } from 'bun';
import { LATER_VERSION } from './later-version.ts';

plugin({
  name: 'later release',
  setup(build) {
    build.onLoad({ filter: /\/storage\/migrations\/migrations\.ts$/ }, async ({ path }) => {
      const text = await Bun.file(path).text();
      const leastKnown = [...text.matchAll(/leastKnown: (\d+)/g)].at(-1)?.[1]; // programs of the release before go on
      const later = `{ version: ${LATER_VERSION}, name: 'later', leastKnown: ${leastKnown}, sqlite: 'SELECT 1',
        postgres: 'ALTER TABLE accounts ADD COLUMN later text; CREATE TABLE later (id int)' }`;
      const contents = text.replace(/(export const migrations[\s\S]*?)\n\];/, `$1\n  ${later},\n];`);
      if (contents === text) throw new Error('the list of migrations was not found');
      return { contents, loader: 'ts' };
    });
  },
});
