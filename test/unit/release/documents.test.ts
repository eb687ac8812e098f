// The documents of a release, from values: the image's Dockerfile and the provenance.

import { expect, test } from 'bun:test';
import { checkBaseImage, makeDockerfile } from '../../../bin/release/container.ts';
import { makeProvenance, publicSource } from '../../../bin/release/provenance.ts';
import { readText } from '../../sources.ts';

const digest = 'c0ffee'.padEnd(64, '0');

test('the base of the image is the one of the Dockerfile, with its digest', () => {
  for (const image of [
    `debian:bookworm-slim@sha256:${digest}`,
    `mirror.example:5000/library/debian:bookworm-slim@sha256:${digest}`,
  ])
    expect(() => checkBaseImage(image)).not.toThrow();
  for (const image of [
    'debian:bookworm-slim',
    `debian@sha256:${digest}`,
    `alpine:3.20@sha256:${digest}`,
    `debian:bookworm-slim@sha256:${digest.slice(1)}`,
    `debian:bookworm-slim@sha256:${digest}\nRUN false`,
    '',
  ])
    expect(() => checkBaseImage(image)).toThrow('--base-image must be debian:bookworm-slim@sha256:');
});

test('the released image is the last stage of the Dockerfile, with the executable of the platform', () => {
  const dockerfile = readText('Dockerfile') ?? '';
  const released = makeDockerfile(dockerfile, `debian:bookworm-slim@sha256:${digest}`);
  expect(released.match(/^FROM .*$/gm)).toEqual([`FROM debian:bookworm-slim@sha256:${digest}`]);
  expect(released.match(/^COPY .*$/gm)).toEqual(['COPY $TARGETARCH/turnpike /usr/local/bin/turnpike']);
  for (const kept of ['USER', 'ENV', 'HEALTHCHECK', 'ENTRYPOINT', 'STOPSIGNAL']) {
    const line = new RegExp(`^${kept} .*$`, 'm');
    expect(released.match(line)?.[0]).toBe(dockerfile.match(line)?.[0] as string);
  }
  expect(() =>
    makeDockerfile(dockerfile.replace('--from=build', '--from=other'), `debian:bookworm-slim@sha256:${digest}`),
  ).toThrow('no longer has the lines');
});

test('the provenance names every file, and everything that was built with, by hash', () => {
  const facts = {
    version: '1.2.0',
    commit: 'a'.repeat(40),
    source: 'https://git.example/turnpike.git',
    lockSha256: 'b'.repeat(64),
    baseImage: `debian:bookworm-slim@sha256:${digest}`,
    runtimes: [{ package: '@oven/bun-linux-x64', version: '1.4.4', sha512: 'c'.repeat(128), path: '/elsewhere/bun' }],
    files: { 'turnpike-1.2.0-linux-x64': 'd'.repeat(64) },
  };
  const statement = makeProvenance(facts);
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'turnpike-1.2.0-linux-x64', digest: { sha256: 'd'.repeat(64) } }],
    predicateType: 'https://slsa.dev/provenance/v1',
  });
  const { buildDefinition } = statement.predicate;
  expect(buildDefinition.externalParameters).toEqual({ version: '1.2.0', baseImage: facts.baseImage });
  expect(buildDefinition.resolvedDependencies).toEqual([
    { name: 'source', uri: 'git+https://git.example/turnpike.git', digest: { gitCommit: 'a'.repeat(40) } },
    { name: 'package-lock.json', digest: { sha256: 'b'.repeat(64) } },
    { uri: 'pkg:npm/%40oven/bun-linux-x64@1.4.4', digest: { sha512: 'c'.repeat(128) } },
    { uri: 'docker://debian:bookworm-slim', digest: { sha256: digest } },
  ]);
  expect(JSON.stringify(statement)).not.toContain('elsewhere');
});

test('the provenance has no address of a disk, and none with a password', () => {
  expect(publicSource('https://git.example/turnpike.git')).toBe('https://git.example/turnpike.git');
  for (const remote of ['/srv/git/turnpike', 'https://ann:secret@git.example/turnpike', 'git@git.example:turnpike', ''])
    expect(publicSource(remote)).toBeNull();
});
