// docs/clients.md shows what is tested: its code is in the programs that `npm run test:clients` runs, and its
// versions are those that the command installs.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { readBlocks } from '../../support/read-blocks.ts';
import { agents } from './agents.ts';
import { clients, programsDirectory } from './clients.ts';

const page = readFileSync(join(rootDirectory, 'docs', 'clients.md'), 'utf8');
const blocks = readBlocks(page).filter(({ heading }) => heading !== '');
const readProgram = (name: string) => readFileSync(join(programsDirectory, name), 'utf8');

/** Lines of a block that no program with its heading contains. */
function linesMissing({ heading, code }: { heading: string; code: string }): string[] {
  const programs = clients.filter((client) => client.heading === heading).map(({ program }) => readProgram(program));
  const lines = code.split('\n').map((line) => line.trim());
  const perProgram = programs.map((text) => lines.filter((line) => !text.includes(line)));
  return perProgram.sort((one, other) => one.length - other.length)[0] ?? lines;
}

test('the lines that connect a client are those of a tested program', () => {
  // Agents have no program: test/verify/clients/run-agent.ts runs the lines of the page.
  const shown = blocks.filter(({ heading }) => !agents.some((agent) => agent.heading === heading));
  expect(shown.map((block) => [block.heading, linesMissing(block)])).toEqual(shown.map(({ heading }) => [heading, []]));
});

test('every tested client is on the page', () => {
  const headings = new Set(blocks.map(({ heading }) => heading));
  expect([...clients, ...agents].filter(({ heading }) => !headings.has(heading))).toEqual([]);
});

test('every heading of the page is in its list, with the tested versions', () => {
  const rows = [...page.matchAll(/^\| \[(.+?)\]\(.*?\) \| (?:`(.+?)`)? ?\| (.*?) ?\|/gm)];
  expect(new Set(rows.map(([, heading]) => heading))).toEqual(new Set(blocks.map(({ heading }) => heading)));
  const shown = rows.flatMap(([, , name, versions = '']) =>
    versions === '' ? [] : versions.split(', ').map((version) => `${name?.split(':').at(-1)} ${version}`),
  );
  expect(shown.filter((version) => !installed().has(version))).toEqual([]);
});

/** "name version" of every explicitly installed package. */
function installed(): Set<string> {
  const read = (file: string) => ['', 'extra/'].map((folder) => readProgram(`${folder}${file}`));
  const dependencies = read('package.json').flatMap((text) =>
    Object.entries((JSON.parse(text) as { dependencies: Record<string, string> }).dependencies),
  );
  const packages = dependencies.map(([name, version]) =>
    version.startsWith('npm:') ? version.slice(4).replace(/@(?=[^@]+$)/, ' ') : `${name} ${version}`,
  );
  const others = [
    ...read('requirements.txt').flatMap((text) => [...text.matchAll(/^([\w-]+)==(.+)$/gm)]),
    ...readProgram('rust/manifest.toml').matchAll(/^([\w-]+) = \{ version = "=(.+?)"/gm),
    ...readProgram('go/go.mod').matchAll(/^require (\S+) (\S+)$/gm),
    ...readProgram('java/pom.xml').matchAll(/<artifactId>(anthropic-java)<\/artifactId>\s*<version>(.+)<\/version>/g),
  ];
  return new Set([...packages, ...others.map(([, name, version]) => `${name} ${version}`)]);
}
