// An issuer whose certificate is from an authority of the company: trusted with a setting, which is checked at the start.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAuthorities } from '../../../src/sign-in/sign-in.ts';
import { makeCertificate } from '../../support/make-certificate.ts';
import { type Issuer, startIssuer } from '../../support/start-issuer.ts';
import { startTurnpike } from '../../support/start-turnpike.ts';
import { signUp } from './browser.ts';
import { callbackOf, newBrowser, settingsOf } from './open-directory.ts';

const ours = makeCertificate('the authority of the company');
const other = makeCertificate('another authority');
let directory: string;
let issuer: Issuer;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-authorities-'));
  issuer = await startIssuer(callbackOf('oidc'), {}, { cert: ours.certificate, key: ours.key });
});
afterAll(async () => {
  await issuer[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

function fileOf(name: string, text: string): Record<string, string> & { TURNPIKE_OIDC_CA_FILE: string } {
  const path = join(directory, name);
  writeFileSync(path, text);
  return { ...settingsOf(issuer.url), TURNPIKE_OIDC_CA_FILE: path };
}

/** The status of the first step of a sign-in, for which the service asks the issuer. */
async function begin(environment: Record<string, string>): Promise<number> {
  await using turnpike = await startTurnpike(undefined, environment);
  await signUp(turnpike, 'ann@example.com');
  return (await newBrowser(turnpike).auth('/sign-in/social', { callbackURL: '/console/' })).status;
}

test('an issuer is trusted by the authority in the file, also behind another one there', async () => {
  expect(await begin(fileOf('ours.pem', ours.certificate))).toBe(200);
  expect(await begin(fileOf('both.pem', `company\n${other.certificate}\n${ours.certificate}`))).toBe(200);
});

test('an issuer is not trusted by another authority, or without the setting', async () => {
  expect(await begin(fileOf('other.pem', other.certificate))).toBe(502);
  expect(await begin(settingsOf(issuer.url))).toBe(502);
});

test.each([
  ['is missing', () => join(directory, 'none.pem'), 'cannot be read'],
  ['has no certificate', () => fileOf('key.pem', ours.key).TURNPIKE_OIDC_CA_FILE, 'contains no certificate'],
  [
    'has a broken certificate',
    () => fileOf('broken.pem', ours.certificate.replace(/M/g, 'N')).TURNPIKE_OIDC_CA_FILE,
    'certificate 1 in',
  ],
])('a file that %s is refused at the start, with the name of the setting', (_, path, words) => {
  const read = () => readAuthorities(path() ?? null);
  expect(read).toThrow('TURNPIKE_OIDC_CA_FILE: ');
  expect(read).toThrow(words);
});
