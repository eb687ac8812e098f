// How the installation presents itself to people: its name, logo, support address and how accounts get credit.

import { z } from 'zod';
import { bounds } from '../config/config.ts';
import type { Settings } from './settings.ts';

/** As the console and mails show it. */
export interface Installation {
  name: string;
  /** A data URL of a PNG or SVG image, for the source of an image element only; null: the logo of Turnpike. */
  logo: string | null;
  /** An email address or an https:// URL. */
  support: string | null;
  /** A text for people who need credit while no payments are taken. */
  recharge: string | null;
}

export function installationOf(settings: Settings): Installation {
  const { installationName, installationLogo, supportAddress, rechargeInstructions } = settings;
  return { name: installationName, logo: installationLogo, support: supportAddress, recharge: rechargeInstructions };
}

const { installationNameCharactersMax, logoBytesMax, supportAddressCharactersMax, rechargeTextCharactersMax } = bounds;

/** Characters that end a line of a header or change the direction of the text after them. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const HIDDEN_BUT_NEWLINE = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;
const EMAIL = /^[^\s@<>"(),:;[\]\\]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63}$/;

export const installationMembers = {
  installation_name: z
    .string()
    .min(1, 'must not be empty')
    .max(installationNameCharactersMax)
    .refine((text) => text.trim() === text && !HIDDEN.test(text), 'must be one line without spaces around it'),
  installation_logo: z
    .string()
    .refine(isLogo, `must be a data URL of a PNG or SVG image of at most ${logoBytesMax} bytes, without scripts`)
    .nullable(),
  support_address: z
    .string()
    .max(supportAddressCharactersMax)
    .refine(isSupportAddress, 'must be an email address or an https:// URL')
    .nullable(),
  recharge_instructions: z
    .string()
    .min(1, 'must not be empty: null means none')
    .max(rechargeTextCharactersMax)
    .refine((text) => !HIDDEN_BUT_NEWLINE.test(text), 'must not have control characters')
    .nullable(),
};

const PNG_START = '\x89PNG\r\n\x1a\n';
const LOGO = /^data:image\/(png|svg\+xml);base64,([A-Za-z0-9+/]+={0,2})$/;
const LOGO_CHARACTERS_MAX = 32 + Math.ceil(logoBytesMax / 3) * 4;

/** An SVG runs no script in an image element; one with a script is refused all the same. */
function isLogo(text: string): boolean {
  if (text.length > LOGO_CHARACTERS_MAX) return false;
  const [, type, base64 = ''] = LOGO.exec(text) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.length > logoBytesMax || bytes.toString('base64') !== base64) return false;
  if (type === 'png') return bytes.toString('latin1', 0, PNG_START.length) === PNG_START;
  const drawing = bytes.toString('utf8');
  return /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<svg[\s>]/s.test(drawing) && !/<script|<!entity/i.test(drawing);
}

function isSupportAddress(text: string): boolean {
  if (EMAIL.test(text)) return true;
  const url = HIDDEN.test(text) || /\s/.test(text) ? null : URL.parse(text);
  return url !== null && url.protocol === 'https:' && url.username === '' && url.password === '';
}
