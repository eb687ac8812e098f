// Creates self-signed certificates for localhost, so that tests need no external program and none expires. Writes
// only the DER that this takes.

import { generateKeyPairSync, sign } from 'node:crypto';

const SIGNATURES = {
  ec: '06082a8648ce3d040302', // ECDSA with SHA-256
  rsa: '06092a864886f70d01010b0500', // RSA with SHA-256, and no parameters
};
const COMMON_NAME = '0603550403';
const SUBJECT_ALTERNATIVE_NAME = '0603551d11';
const BASIC_CONSTRAINTS = '0603551d13';
const DAY_MS = 24 * 60 * 60 * 1000;

/** In PEM. Valid until `expiresAtMs`, for `commonName`, localhost and 127.0.0.1. */
export function makeCertificate(
  commonName: string,
  expiresAtMs = Date.now() + DAY_MS,
  kind: keyof typeof SIGNATURES = 'ec',
) {
  const { publicKey, privateKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const algorithm = sequence(Buffer.from(SIGNATURES[kind], 'hex'));
  const name = sequence(der(0x31, sequence(Buffer.from(COMMON_NAME, 'hex'), der(0x0c, Buffer.from(commonName)))));
  const alternatives = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(
    sequence(Buffer.from(SUBJECT_ALTERNATIVE_NAME, 'hex'), der(0x04, alternatives)),
    sequence(Buffer.from(BASIC_CONSTRAINTS, 'hex'), der(0x04, sequence(der(0x01, Buffer.from([0xff]))))),
  );
  const facts = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // Version 3.
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(Math.min(Date.now(), expiresAtMs) - 365 * DAY_MS), time(expiresAtMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', facts, privateKey));
  return {
    certificate: pem('CERTIFICATE', sequence(facts, algorithm, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function time(atMs: number): Buffer {
  return der(0x18, Buffer.from(`${new Date(atMs).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
