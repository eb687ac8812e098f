// A cookie by which a browser is known that somebody signed in with before. It opens nothing: it only spares its owner from waiting
// while strangers guess the password.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { bounds } from '../config.ts';

const NAME = 'turnpike.known_device';
const NONCE_BYTES = 16;
const SHAPE = /^[\w-]{22}\.[\w-]{43}$/;

/** The device's own name where its cookie was made for this e-mail; else null. */
export function readKnownDevice(cookie: string, email: string, secret: string): string | null {
  const prefix = `${NAME}=`;
  const value = cookie
    .split(/; */)
    .find((part) => part.startsWith(prefix))
    ?.slice(prefix.length);
  if (value === undefined || !SHAPE.test(value)) return null;
  const [nonce = '', shown = ''] = value.split('.');
  return timingSafeEqual(Buffer.from(shown), Buffer.from(sign(nonce, email, secret))) ? nonce : null;
}

/** What a browser is to keep after its owner signed in. */
export function knownDeviceCookie(email: string, secret: string): string {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const age = bounds.knownDeviceKeptMs / 1000;
  return `${NAME}=${nonce}.${sign(nonce, email, secret)}; Max-Age=${age}; Path=/; HttpOnly; SameSite=Strict`;
}

function sign(nonce: string, email: string, secret: string): string {
  return createHmac('sha256', secret).update(`known device\n${nonce}\n${email}`).digest('base64url');
}
