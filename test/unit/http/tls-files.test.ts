// Certificate and key files: an unusable file is reported with its flag, and a changed file takes effect, however it
// is changed.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTlsPair, type TlsEvent, TlsFiles, type TlsPair } from '../../../src/http/http.ts';
import { makeCertificate } from '../../support/make-certificate.ts';

const NEVER_MS = 60 * 60 * 1000;
const [first, second] = [makeCertificate('first'), makeCertificate('second')];

let directory: string;
let paths: { certificatePath: string; keyPath: string };
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-tls-'));
  paths = { certificatePath: join(directory, 'tls.crt'), keyPath: join(directory, 'tls.key') };
  write(first);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function write({ certificate, key }: { certificate: string; key: string }, { certificatePath, keyPath } = paths): void {
  writeFileSync(certificatePath, certificate);
  writeFileSync(keyPath, key);
}

describe('a certificate and its key', () => {
  test('are read together with the expiry date', async () => {
    const pair = await readTlsPair(paths);
    expect(pair).toMatchObject(first);
    expect(Math.abs(pair.expiresAtMs - Date.now() - 24 * 60 * 60 * 1000)).toBeLessThan(60_000);
  });

  test.each<[string, () => void, RegExp]>([
    ['no certificate', () => unlinkSync(paths.certificatePath), /^--tls-certificate: cannot read .*tls\.crt: .*ENOENT/],
    ['no key', () => unlinkSync(paths.keyPath), /^--tls-key: cannot read .*tls\.key: .*ENOENT/],
    [
      'an empty certificate',
      () => writeFileSync(paths.certificatePath, ''),
      /^--tls-certificate: .* no certificate in PEM/,
    ],
    [
      'a key in place of a certificate',
      () => writeFileSync(paths.certificatePath, first.key),
      /^--tls-certificate: .* no certificate/,
    ],
    [
      'a certificate in place of a key',
      () => writeFileSync(paths.keyPath, first.certificate),
      /^--tls-key: .* no private key in PEM/,
    ],
    [
      'the key of another certificate',
      () => writeFileSync(paths.keyPath, second.key),
      /^--tls-key: .* does not match the certificate/,
    ],
    [
      'a broken chain',
      () =>
        writeFileSync(
          paths.certificatePath,
          `${first.certificate}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
        ),
      /^--tls-certificate: .* cannot be used/,
    ],
    [
      'a file that is far too large',
      () => writeFileSync(paths.keyPath, 'x'.repeat(2_000_000)),
      /^--tls-key: cannot read .*: it is larger than/,
    ],
  ])('are refused with the flag of the fault: %s', async (_, spoil, message) => {
    spoil();
    await expect(readTlsPair(paths)).rejects.toThrow(message);
  });
});

describe('a changed file', () => {
  let used: TlsPair[];
  let events: TlsEvent[];
  let files: TlsFiles;
  async function watch(lookMs = NEVER_MS): Promise<void> {
    used = [];
    events = [];
    const use = async (pair: TlsPair) => void used.push(pair);
    files = new TlsFiles(paths, await readTlsPair(paths), use, (event) => events.push(event), lookMs);
  }
  afterEach(() => files.close());

  test('takes effect at the next check, once; an unchanged file is left alone', async () => {
    await watch();
    write(first);
    await files.look('by_itself');
    expect(used).toEqual([]);
    write(second);
    await files.look('by_itself');
    await files.look('by_itself');
    expect(used).toMatchObject([second]);
    expect(events).toMatchObject([{ kind: 'used', pair: second }]);
    expect(files.current).toMatchObject(second);
  });

  test('is detected automatically', async () => {
    await watch(10);
    write(second);
    for (let tries = 0; tries < 300 && used.length === 0; tries++) await Bun.sleep(10);
    expect(used).toMatchObject([second]);
  });

  test('may be renamed into place', async () => {
    await watch();
    const fresh = { certificatePath: join(directory, 'fresh.crt'), keyPath: join(directory, 'fresh.key') };
    write(second, fresh);
    renameSync(fresh.certificatePath, paths.certificatePath);
    renameSync(fresh.keyPath, paths.keyPath);
    await files.look('by_itself');
    expect(used).toMatchObject([second]);
  });

  test('may change because a symbolic link of its directory points elsewhere', async () => {
    for (const [name, pair] of Object.entries({ one: first, two: second })) {
      mkdirSync(join(directory, name));
      write(pair, { certificatePath: join(directory, name, 'tls.crt'), keyPath: join(directory, name, 'tls.key') });
    }
    symlinkSync('one', join(directory, 'live'));
    paths = { certificatePath: join(directory, 'live', 'tls.crt'), keyPath: join(directory, 'live', 'tls.key') };
    await watch();
    symlinkSync('two', join(directory, 'next'));
    renameSync(join(directory, 'next'), join(directory, 'live'));
    await files.look('by_itself');
    expect(used).toMatchObject([second]);
  });

  test('that is invalid is reported once, after a second check, and the old one stays in use', async () => {
    await watch();
    writeFileSync(paths.certificatePath, second.certificate); // the matching key may be written a moment later
    await files.look('by_itself');
    expect(events).toEqual([]);
    for (let looks = 0; looks < 3; looks++) await files.look('by_itself');
    expect(events).toEqual([{ kind: 'refused', message: expect.stringMatching(/does not match the certificate/) }]);
    expect(files.current).toMatchObject(first);
    expect(used).toEqual([]);
    writeFileSync(paths.keyPath, second.key);
    await files.look('by_itself');
    expect(used).toMatchObject([second]);
  });

  test('that is invalid is reported at once when a check was requested explicitly', async () => {
    await watch();
    unlinkSync(paths.keyPath);
    await files.look('asked');
    await files.look('asked');
    expect(events.map(({ kind }) => kind)).toEqual(['refused', 'refused']);
  });
});
