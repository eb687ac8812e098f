// The text of each mail to one person. Names that other people chose are shown only if they cannot contain a link.

import { showTime } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import type { Letter } from './render-letter.ts';

/** The purpose of a mail, with its data. Links are whole URLs. */
export type MailContent =
  /** `account`: its name; null: the installation. */
  | { kind: 'invitation'; role: string; account: string | null; url: string; expiresAtMs: number }
  /** The invited person has access already: an email belongs to one account. */
  | { kind: 'invitation-known'; account: string | null }
  /** An operator or owner made a link with which the person sets a new password. */
  | { kind: 'recovery'; url: string; expiresAtMs: number }
  | { kind: 'sign-up'; url: string; expiresAtMs: number }
  /** Somebody signed up with the email of a person. */
  | { kind: 'sign-up-known'; url: string; hasInvitation: boolean }
  | { kind: 'password-reset'; url: string; expiresAtMs: number }
  /** The person signs in with the issuer of this name and has no password. */
  | { kind: 'password-reset-single-sign-on'; issuer: string; url: string }
  /** The person has not accepted their invitation yet. */
  | { kind: 'password-reset-invited' }
  /** A file can be downloaded, by people who may sign in. */
  | { kind: 'export'; name: string; period: string; url: string }
  | { kind: 'password-changed'; atMs: number; address: string; url: string };

export type MailKind = MailContent['kind'];

const NOT_YOU = 'If you did not ask for this, ignore this mail: nothing changes.';

export function writeLetter(content: MailContent, publicUrl: string): Letter {
  const { host } = new URL(publicUrl);
  switch (content.kind) {
    case 'invitation':
      return invitation(content, host);
    case 'invitation-known':
      return {
        subject: `You already have access to ${host}`,
        heading: 'You already have access',
        paragraphs: [
          `You were invited to ${invitedTo(content.account, host)}, but you have access there with this address already. An address can be used for one account.`,
          'To accept, ask for an invitation with another address.',
        ],
        notes: ['If you do not know who invites you, ignore this mail: nothing changes.'],
      };
    case 'recovery':
      return {
        subject: `Set a new password for ${host}`,
        heading: 'Set a new password',
        paragraphs: [
          `An administrator made a link with which you choose a new password for ${host}. Your present password works until then; a second factor is removed with it.`,
          worksUntil(content.expiresAtMs),
        ],
        action: { label: 'Choose a password', url: content.url },
        notes: ['If you did not expect this, ask the person who looks after this service before you open the link.'],
      };
    case 'sign-up':
      return {
        subject: `Confirm your email address for ${host}`,
        heading: 'Confirm your email address',
        paragraphs: [
          `Somebody asked for an account at ${host} with this address. Open the link to confirm it and to choose a password.`,
          worksUntil(content.expiresAtMs),
        ],
        action: { label: 'Confirm the address', url: content.url },
        notes: [NOT_YOU],
      };
    case 'sign-up-known':
      return {
        subject: `You already have access to ${host}`,
        heading: 'You already have access',
        paragraphs: [
          `Somebody asked for an account at ${host} with this address, which is already known there.`,
          content.hasInvitation
            ? 'You were invited: open the link of the invitation, or ask the person who invited you for a new one.'
            : 'Sign in instead. If you forgot your password, you can ask for a new one on the same page.',
        ],
        action: { label: 'Sign in', url: content.url },
        notes: [NOT_YOU],
      };
    case 'export':
      return {
        subject: `The export of ${content.period} is ready at ${host}`,
        heading: `The export of ${content.period} is ready`,
        paragraphs: [
          `${plainName(content.name) ?? 'An export'} of ${content.period} can be downloaded. Sign in to get the file.`,
        ],
        action: { label: 'Download the file', url: content.url },
        notes: ['You get this mail because your address is one of the export. Change or disable it on the same page.'],
      };
    default:
      return passwordLetter(content, host);
  }
}

type PasswordContent = Extract<MailContent, { kind: `password-${string}` }>;

function passwordLetter(content: PasswordContent, host: string): Letter {
  switch (content.kind) {
    case 'password-reset':
      return {
        subject: `Choose a new password for ${host}`,
        heading: 'Choose a new password',
        paragraphs: [
          `Somebody asked for a new password for ${host} with this address. Open the link to choose one. It ends all your sessions.`,
          worksUntil(content.expiresAtMs),
        ],
        action: { label: 'Choose a password', url: content.url },
        notes: [NOT_YOU],
      };
    case 'password-reset-single-sign-on':
      return {
        subject: `Signing in to ${host}`,
        heading: 'You sign in without a password',
        paragraphs: [
          `Somebody asked for a new password for ${host} with this address. You sign in there with ${plainName(content.issuer) ?? 'single sign-on'} and have no password.`,
        ],
        action: { label: 'Sign in', url: content.url },
        notes: [NOT_YOU],
      };
    case 'password-reset-invited':
      return {
        subject: `Your invitation to ${host}`,
        heading: 'You have not accepted your invitation yet',
        paragraphs: [
          `Somebody asked for a new password for ${host} with this address. You have none yet: open the link of your invitation to choose one. If you no longer have it, ask the person who invited you for a new one.`,
        ],
        notes: [NOT_YOU],
      };
    case 'password-changed':
      return {
        subject: `Your password for ${host} was changed`,
        heading: 'Your password was changed',
        paragraphs: [`The password with which you sign in to ${host} was changed. All other sessions have ended.`],
        facts: [
          ['When', showTime(content.atMs)],
          ...(content.address === '' ? [] : [['From the address', content.address] as const]),
        ],
        action: { label: 'Sign in', url: content.url },
        notes: [
          'If it was not you, choose a new password now with “Forgot your password?” on that page, and tell the person who looks after this service.',
        ],
      };
  }
}

function invitation(content: Extract<MailContent, { kind: 'invitation' }>, host: string): Letter {
  const to = invitedTo(content.account, host);
  return {
    subject: `You are invited to ${to}`,
    heading: `You are invited to ${to}`,
    paragraphs: [
      `You were invited as ${article(content.role)} ${content.role}. Open the link to choose a password and to sign in.`,
      worksUntil(content.expiresAtMs),
    ],
    action: { label: 'Accept the invitation', url: content.url },
    notes: ['If you do not know who invites you, ignore this mail: nothing changes.'],
  };
}

function invitedTo(account: string | null, host: string): string {
  return account === null ? host : `${plainName(account) ?? 'an account'} at ${host}`;
}

function article(word: string): string {
  return /^[aeiou]/.test(word) ? 'an' : 'a';
}

function worksUntil(expiresAtMs: number): string {
  return `The link works once, until ${showTime(expiresAtMs)}.`;
}

const PLAIN = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} &'’()_-]*$/u;

/**
 * A name if it has only letters, digits, spaces and a few signs, and is short; else null. Anyone can choose a name and
 * have it sent to a stranger: it must not carry a link or a message.
 */
export function plainName(name: string): string | null {
  const isPlain = PLAIN.test(name) && [...name].length <= bounds.mailNameCharactersMax;
  return isPlain && !/www|https?/i.test(name) ? name : null;
}

/** A notice about an event. */
export interface Notice {
  title: string;
  /** One sentence. */
  sentence: string;
  atMs: number;
  /** Name of the account; null: the installation. */
  account: string | null;
  /** The page of the console that shows more. */
  url: string;
  isSecurity: boolean;
}

export function writeNotice({ title, sentence, atMs, account, url, isSecurity }: Notice, publicUrl: string): Letter {
  const { host } = new URL(publicUrl);
  return {
    subject: `${title}${account === null ? '' : ` (${account})`} – ${host}`,
    heading: title,
    paragraphs: [sentence],
    facts: [['When', showTime(atMs)], ...(account === null ? [] : [['Account', account] as const])],
    action: { label: 'Open the console', url },
    notes: isSecurity ? ['You get this mail because it is about the security of the account.'] : [],
  };
}
