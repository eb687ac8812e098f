// Certificates of the authorities that issuers are trusted with, besides the public ones.

import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { bounds } from '../config/config.ts';

const SETTING = 'TURNPIKE_OIDC_CA_FILE';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** In PEM, with the public ones; null without a file. Throws an error that names the setting. */
export function readAuthorities(path: string | null): string[] | null {
  if (path === null) return null;
  const certificates = readText(path).match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error(`${SETTING}: ${path} contains no certificate in PEM format`);
  for (const [at, certificate] of certificates.entries()) {
    const place = `the certificate ${at + 1} in ${path}`;
    if (!isAuthority(certificate, place)) throw new Error(`${SETTING}: ${place} is not one of an authority (CA)`);
  }
  return [...rootCertificates, ...certificates];
}

function readText(path: string): string {
  try {
    if (statSync(path).size > bounds.tlsFileBytesMax)
      throw new Error(`it has more than ${bounds.tlsFileBytesMax} bytes`);
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`${SETTING}: ${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

function isAuthority(certificate: string, place: string): boolean {
  try {
    return new X509Certificate(certificate).ca;
  } catch (cause) {
    throw new Error(`${SETTING}: ${place} cannot be used: ${(cause as Error).message}`, { cause });
  }
}
