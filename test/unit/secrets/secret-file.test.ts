// The files of the installation secret: at every moment the valid secret is in one of them.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InstallationSecretMissing } from '../../../src/secrets/installation-secret.ts';
import {
  findInstallationSecrets,
  loadInstallationSecrets,
  removePreviousSecretFile,
  rotateSecretFiles,
} from '../../../src/secrets/secrets.ts';

let dataDirectory: string;
beforeEach(() => {
  dataDirectory = mkdtempSync(join(tmpdir(), 'turnpike-secret-'));
});
afterEach(() => rmSync(dataDirectory, { recursive: true, force: true }));

const settings = (given: { secretBase64?: string; previousSecretBase64?: string } = {}) => ({
  dataDirectory,
  secretBase64: null,
  previousSecretBase64: null,
  ...given,
});
const [first, second] = [1, 2].map((fill) => Buffer.alloc(32, fill)) as [Buffer, Buffer];

test('a first secret is created for a new installation only, readable by its owner only', () => {
  expect(() => loadInstallationSecrets(settings(), false)).toThrow(InstallationSecretMissing);
  expect(readdirSync(dataDirectory)).toEqual([]);
  const { present } = loadInstallationSecrets(settings(), true);
  expect(present).toHaveLength(32);
  expect(statSync(join(dataDirectory, 'secret')).mode & 0o777).toBe(0o600);
  expect(loadInstallationSecrets(settings(), false)).toEqual({ present, previous: null });
});

test('a rotation that fails halfway has saved the secret before replacing its file', () => {
  mkdirSync(join(dataDirectory, 'secret', 'in the way'), { recursive: true }); // a directory of this name prevents the rename
  expect(() => rotateSecretFiles(dataDirectory, first)).toThrow();
  expect(readFileSync(join(dataDirectory, 'secret.previous'), 'utf8')).toBe(`${first.toString('base64')}\n`);
  expect(readdirSync(dataDirectory).sort()).toEqual(['secret', 'secret.previous']);
});

test('a rotation creates a new secret, keeps the present one, and leaves no other file', () => {
  writeFileSync(join(dataDirectory, 'secret'), first.toString('base64'));
  rotateSecretFiles(dataDirectory, first);
  const { present, previous } = findInstallationSecrets(settings());
  expect([present?.bytes.equals(first), previous?.bytes.equals(first)]).toEqual([false, true]);
  expect(readdirSync(dataDirectory).sort()).toEqual(['secret', 'secret.previous']);
  removePreviousSecretFile(dataDirectory);
  expect(findInstallationSecrets(settings()).previous).toBeNull();
});

test('each secret from the environment takes precedence over its file', () => {
  writeFileSync(join(dataDirectory, 'secret'), first.toString('base64'));
  writeFileSync(join(dataDirectory, 'secret.previous'), first.toString('base64'));
  const sources = (given: Parameters<typeof settings>[0]) => {
    const { present, previous } = findInstallationSecrets(settings(given));
    return [present?.source, previous?.source];
  };
  const files = ['secret', 'secret.previous'].map((name) => `file:${join(dataDirectory, name)}`);
  const base64 = second.toString('base64');
  expect(sources({})).toEqual(files);
  expect(sources({ secretBase64: base64 })).toEqual(['TURNPIKE_SECRET', files[1]]);
  expect(sources({ previousSecretBase64: base64 })).toEqual([files[0], 'TURNPIKE_PREVIOUS_SECRET']);
});

test.each(['', 'short', 'not base64 at all!', Buffer.alloc(31).toString('base64')])(
  'a file without a valid secret is named, without its content: "%s"',
  (text) => {
    writeFileSync(join(dataDirectory, 'secret'), text);
    const read = () => loadInstallationSecrets(settings(), true);
    expect(read).toThrow(InstallationSecretMissing);
    expect(read).toThrow(`the file ${join(dataDirectory, 'secret')} does not contain a secret`);
    expect(readFileSync(join(dataDirectory, 'secret'), 'utf8')).toBe(text);
  },
);
