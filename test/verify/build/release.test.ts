// `npm run release`, rehearsed for this kind of machine. It builds the last commit, not changes after it.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { writeProductionManifest } from '../../../bin/release/production-manifest.ts';
import { fetchRuntime, targets } from '../../../bin/release/runtimes.ts';
import { makeSbom, type Sbom, validateSbom } from '../../../bin/release/sbom.ts';
import { sha256 } from '../../../bin/release/sha256.ts';
import { rootDirectory } from '../../check.ts';
import { readText } from '../../sources.ts';
import { makeBareMachine } from './executable.ts';

const RELEASE_MS_MAX = 900_000; // It installs the packages anew and builds twice.
const NPM_MS_MAX = 120_000; // npm starts slowly on a busy machine.
const machine = `${process.platform}-${process.arch}`;
const baseImage = `debian:bookworm-slim@sha256:${'c0ffee'.padEnd(64, '0')}`;

let work: string;
let output: string;
let printed: string;
let version: string;
let commit: string;
beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'turnpike-rehearsal-'));
  output = join(work, 'output');
  commit = Bun.spawnSync(['git', 'rev-parse', 'HEAD'], { cwd: rootDirectory }).stdout.toString().slice(0, 12);
  const given = ['--rehearsal', '--only', machine, '--output', output, '--base-image', baseImage];
  const ran = await run(...given);
  printed = ran.printed;
  if (ran.exitCode !== 0) throw new Error(printed);
  version = new RegExp(`turnpike-(\\S+)-${machine}$`, 'm').exec(readdirSync(output).join('\n'))?.[1] ?? '';
}, RELEASE_MS_MAX);
afterAll(() => rmSync(work, { recursive: true, force: true }));

async function run(...given: string[]) {
  const child = Bun.spawn([process.execPath, join(rootDirectory, 'bin', 'release.ts'), ...given], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, npm_config_prefer_offline: 'true' },
  });
  const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  return { exitCode: await child.exited, printed: (await Promise.all(texts)).join('') };
}

test('a rehearsal names its commit, and says that nothing of it may be published', () => {
  const { version: next } = JSON.parse(readText('package.json') ?? '') as { version: string };
  expect(version).toBe(`${next}-dev+${commit}`);
  expect(printed).toContain(`turnpike ${version}, each executable with the same bytes in two builds`);
  expect(printed).toContain('This was a rehearsal: publish nothing of it.');
  expect(printed).toContain(`A release would be refused: the last commit does not have the tag v${next}`);
});

test('the executable runs alone, and prints the licenses that are published beside it', async () => {
  using bare = makeBareMachine(join(output, `turnpike-${version}-${machine}`));
  expect(await bare.run('--version')).toEqual({ exitCode: 0, out: `${version}\n`, error: '' });
  const { out } = await bare.run('licenses');
  expect(out).toBe(readFileSync(join(output, 'THIRD-PARTY-NOTICES.txt'), 'utf8'));
  expect(out).toStartWith(`Turnpike ${version} is licensed under the Apache License 2.0.`);
  expect(readdirSync(bare.directory)).toEqual(['turnpike']);
});

test('every file has its hash in SHA256SUMS and in the provenance', () => {
  const files = readdirSync(output).filter((name) => statSync(join(output, name)).isFile());
  const sums = readFileSync(join(output, 'SHA256SUMS'), 'utf8').trim().split('\n');
  const hashes = Object.fromEntries(sums.map((line) => line.split('  ').reverse() as [string, string]));
  expect(Object.keys(hashes).sort()).toEqual(
    [...files.filter((name) => name !== 'SHA256SUMS'), 'container/Dockerfile'].sort(),
  );
  for (const [name, hash] of Object.entries(hashes)) expect([name, sha256(join(output, name))]).toEqual([name, hash]);
  const statement = JSON.parse(readFileSync(join(output, `turnpike-${version}.intoto.json`), 'utf8'));
  const subjects = statement.subject.map(({ name, digest }: { name: string; digest: { sha256: string } }) => [
    name,
    digest.sha256,
  ]);
  expect({ ...Object.fromEntries(subjects), [`turnpike-${version}.intoto.json`]: expect.any(String) }).toEqual(hashes);
  const { externalParameters, resolvedDependencies } = statement.predicate.buildDefinition;
  expect(externalParameters).toEqual({ version, baseImage });
  expect(resolvedDependencies.length).toBe(4);
});

test('the context of the image has the executable and a Dockerfile without faults', () => {
  const dockerfile = readFileSync(join(output, 'container', 'Dockerfile'), 'utf8');
  expect(validate(dockerfile)).toEqual([]);
  expect(validate(dockerfile.replace('COPY', 'COPPY'))).not.toEqual([]);
  const { imageArchitecture = '' } = targets.find((target) => target.machine === machine) ?? {};
  const copied = join(output, 'container', imageArchitecture, 'turnpike');
  expect(sha256(copied)).toBe(sha256(join(output, `turnpike-${version}-${machine}`)));
  expect(statSync(copied).mode & 0o111).toBe(0o111);
});

test('without the digest of the base image and the tag there is no release, and nothing is built', async () => {
  const none = join(work, 'none');
  const refused = await run('--output', none);
  expect(refused.exitCode).toBe(1);
  expect(refused.printed).toContain(
    'release: the digest of the base image is missing: --base-image debian:bookworm-slim@sha256:…',
  );
  expect(refused.printed).toContain('release: the last commit does not have the tag');
  expect((await run('--base-image', 'debian:bookworm-slim', '--rehearsal')).printed).toContain('64 hexadecimal digits');
  expect((await run('--only', machine)).printed).toContain('--only is for rehearsals');
  expect(existsSync(none)).toBe(false);
});

test(
  'a known vulnerability of what is shipped refuses a release, and so does a registry that reports none',
  async () => {
    const checkout = join(work, 'checkout');
    const git = (...given: string[]) => {
      const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
      const { success, stderr } = Bun.spawnSync(['git', ...identity, ...given], { cwd: checkout });
      if (!success) throw new Error(stderr.toString());
    };
    Bun.spawnSync(['git', 'clone', '--quiet', rootDirectory, checkout]);
    symlinkSync(join(rootDirectory, 'node_modules'), join(checkout, 'node_modules'));
    const { version: next } = JSON.parse(readText('package.json') ?? '') as { version: string };
    writeFileSync(join(checkout, 'CHANGELOG.md'), `# Changelog\n\n## ${next}\n`);
    git('commit', '--quiet', '--allow-empty', '--all', '--message', 'Prepare the release');
    git('tag', '--annotate', '--force', '--message', 'Release', `v${next}`);
    const advisory = {
      id: 1,
      title: 'Money is lost',
      severity: 'moderate',
      vulnerable_versions: '*',
      url: 'https://x.example',
    };
    const asked: string[] = [];
    await using registry = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (request.method === 'POST') asked.push(pathname);
        const isFirst = asked.length === 1;
        if (request.method !== 'POST')
          return Response.json({ name: decodeURIComponent(pathname.slice(1)), versions: {} });
        return isFirst ? Response.json({ zod: [advisory] }) : new Response('', { status: 405 });
      },
    });
    const release = async () => {
      const command = [process.execPath, join(checkout, 'bin', 'release.ts'), '--base-image', baseImage];
      const env = { ...process.env, npm_config_registry: registry.url.href };
      const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', env });
      const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
      return { exitCode: await child.exited, texts: (await Promise.all(texts)).join('') };
    };
    const vulnerable = await release();
    expect(vulnerable.exitCode).toBe(1);
    expect(vulnerable.texts).toContain('Money is lost');
    expect(vulnerable.texts).toContain('release: npm audit --package-lock-only ended with 1');
    const unanswered = await release();
    expect([unanswered.exitCode, unanswered.texts.includes('Money is lost')]).toEqual([1, false]);
    expect(unanswered.texts).toContain('release: npm audit --package-lock-only ended with 1');
    expect(new Set(asked)).toEqual(new Set(['/-/npm/v1/security/advisories/bulk']));
    expect(existsSync(join(checkout, 'dist'))).toBe(false);
    rmSync(checkout, { recursive: true });
  },
  NPM_MS_MAX,
);

test(
  'the SBOM is valid, has what is shipped, and is the same each time',
  async () => {
    const production = writeProductionManifest(rootDirectory, work);
    const sbom = makeSbom(production, '2026-11-28T12:00:00.000Z');
    await validateSbom(sbom);
    expect(sbom.metadata.component).toMatchObject({ name: 'turnpike', type: 'application' });
    const lock = JSON.parse(readText('package-lock.json') ?? '') as Lock;
    const shipped = Object.entries(lock.packages).filter(
      ([path, each]) => path !== '' && !each.dev && !each.devOptional,
    );
    const names = shipped.map(([path, { version: locked }]) => `${path.split('node_modules/').at(-1)}@${locked}`);
    const expected = names.filter((name) => !name.startsWith('@oven/'));
    const listed = sbom.components.map((each) => `${each.name}@${each.version}`);
    expect(listed.filter((name) => !name.startsWith('@oven/')).sort()).toEqual([...new Set(expected)].sort());
    expect(listed).toContain(`zod@${lock.packages['node_modules/zod']?.version}`); // Tests use it, too.
    const runtimes = sbom.components.map(({ name }) => name).filter((name) => name.startsWith('@oven/'));
    expect(runtimes.sort()).toEqual(targets.map((each) => each.package).sort());
    expect(JSON.stringify(makeSbom(production, '2026-11-28T12:00:00.000Z'))).toBe(JSON.stringify(sbom));
    const broken = { ...sbom, components: [{ ...sbom.components[0], type: 'thing' }] } as unknown as Sbom;
    await expect(validateSbom(broken)).rejects.toThrow('the SBOM is not valid');
  },
  NPM_MS_MAX,
);

test(
  'a runtime whose hash is not in package-lock.json is refused',
  () => {
    const root = mkdtempSync(join(tmpdir(), 'turnpike-runtime-'));
    const lock = JSON.parse(readText('package-lock.json') ?? '') as { packages: Record<string, { integrity: string }> };
    // The smallest package there is, in place of a runtime of 50 MB.
    const small = lock.packages['node_modules/uqr'] as { integrity: string };
    const write = (entry: object) =>
      writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: { 'node_modules/uqr': entry } }));
    write(small);
    expect(fetchRuntime(root, 'uqr', root)).toMatchObject({ package: 'uqr', version: '0.1.3' });
    write({ ...small, integrity: `sha512-${Buffer.alloc(64).toString('base64')}` });
    expect(() => fetchRuntime(root, 'uqr', root)).toThrow(
      'uqr 0.1.3 is not the package whose hash is in package-lock.json',
    );
    expect(() => fetchRuntime(root, '@oven/bun-plan9-x64', root)).toThrow(
      'package-lock.json has no @oven/bun-plan9-x64',
    );
    rmSync(root, { recursive: true, force: true });
  },
  NPM_MS_MAX,
);

interface Lock {
  packages: Record<string, { version: string; dev?: boolean; devOptional?: boolean }>;
}
