// How the installation presents itself to people: its name, logo, support address, how accounts get credit, and the terms that people
// agree to.

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

/** The terms of the installation, each a text or an https:// URL; null: there is none. At least one of both is set. */
export interface Terms {
  /** Named by those who agree: with another one, they are asked again. null: nobody has to agree. */
  version: string | null;
  termsOfService: string | null;
  privacyPolicy: string | null;
}

export function termsOf({ termsVersion: version, termsOfService, privacyPolicy }: Settings): Terms | null {
  return termsOfService === null && privacyPolicy === null ? null : { version, termsOfService, privacyPolicy };
}

export interface Landing {
  title: string;
  /** In Markdown. */
  text: string | null;
  links: readonly { label: string; url: string }[];
}

/** The page at the address of the service for people who are not signed in; null: there is none. */
export function landingOf({ landingTitle: title, landingText: text, landingLinks }: Settings): Landing | null {
  return title === null ? null : { title, text, links: landingLinks.map(linkOf) };
}

function linkOf(line: string): { label: string; url: string } {
  const at = line.indexOf(': ');
  return { label: line.slice(0, at), url: line.slice(at + 2) };
}

/** Whether the text is the address of a page. */
export function isPageUrl(text: string): boolean {
  const url = HIDDEN.test(text) || /\s/.test(text) ? null : URL.parse(text);
  return url !== null && url.protocol === 'https:' && url.username === '' && url.password === '';
}

const { installationNameCharactersMax, logoBytesMax, supportAddressCharactersMax, rechargeTextCharactersMax } = bounds;
const { termsCharactersMax, termsVersionCharactersMax, landingTitleCharactersMax, landingTextCharactersMax } = bounds;

/** Characters that end a line of a header or change the direction of the text after them. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const HIDDEN_BUT_NEWLINE = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;
const EMAIL = /^[^\s@<>"(),:;[\]\\]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63}$/;

const line = (charactersMax: number) =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(charactersMax)
    .refine((text) => text.trim() === text && !HIDDEN.test(text), 'must be one line without spaces around it');
const text = (charactersMax: number) =>
  z
    .string()
    .min(1, 'must not be empty: null means none')
    .max(charactersMax)
    .refine((written) => !HIDDEN_BUT_NEWLINE.test(written), 'must not have control characters');

export const installationMembers = {
  installation_name: line(installationNameCharactersMax),
  installation_logo: z
    .string()
    .refine(isLogo, `must be a data URL of a PNG or SVG image of at most ${logoBytesMax} bytes, without scripts`)
    .nullable(),
  support_address: z
    .string()
    .max(supportAddressCharactersMax)
    .refine(isSupportAddress, 'must be an email address or an https:// URL')
    .nullable(),
  recharge_instructions: text(rechargeTextCharactersMax).nullable(),
  terms_version: line(termsVersionCharactersMax).nullable(),
  terms_of_service: text(termsCharactersMax).nullable(),
  privacy_policy: text(termsCharactersMax).nullable(),
  landing_title: line(landingTitleCharactersMax).nullable(),
  landing_text: text(landingTextCharactersMax).nullable(),
};

/** A list of lines "label: https://…". */
export const landingLinks = z
  .array(
    z
      .string()
      .max(300)
      .refine((text) => LABELED.test(text) && isPageUrl(linkOf(text).url), {
        error: 'must be a label and an https:// URL, such as "Documentation: https://example.com/docs"',
      }),
  )
  .max(bounds.landingLinksMax)
  .refine((links) => new Set(links.map((link) => linkOf(link).label)).size === links.length, {
    error: 'must not contain a label twice',
  });

const LABELED = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s:,][^\p{Cc}\p{Cf}\p{Zl}\p{Zp}:,]{0,39}: \S+$/u;
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
  return EMAIL.test(text) || isPageUrl(text);
}
