// Reads a file of a credential, which must be below the directories that the environment names, wherever links lead.

import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { bounds, type CredentialSettings } from '../config/config.ts';
import { CredentialFault, explainFault } from './load-context.ts';

/**
 * The text of the file. Opens what the links led to when they were checked, so that a link that is replaced meanwhile
 * leads nowhere else. Throws CredentialFault.
 */
export async function readCredentialFile(
  path: string,
  settings: CredentialSettings,
  isIdentity = false,
): Promise<string> {
  const place = await checkFilePlace(path, settings, isIdentity);
  if (place === null) throw new CredentialFault(`the file ${path} does not exist`);
  return readRegularFile(place, path, constants.O_NOFOLLOW);
}

/** The text of a file that the environment itself names. Throws CredentialFault. */
export async function readHostFile(path: string): Promise<string> {
  return readRegularFile(path, path, 0);
}

/**
 * The file without links; null if it does not exist. Throws CredentialFault for one that must not be read: then it does not
 * tell whether it exists. With `isIdentity` files that the environment names as identities may be read.
 */
export async function checkFilePlace(
  path: string,
  settings: CredentialSettings,
  isIdentity = false,
): Promise<string | null> {
  const outside = () =>
    new CredentialFault(
      `${path} is not below the directories that TURNPIKE_CREDENTIAL_DIRECTORIES allows (${settings.directories.join(', ')})`,
    );
  if (!settings.directories.some((directory) => isBelow(join(path), directory))) throw outside();
  const place = await resolveLinks(path);
  if (place === null) return null;
  const directories = await Promise.all(settings.directories.map(resolveLinks));
  if (!directories.some((directory) => directory !== null && isBelow(place, directory))) throw outside();
  const own = await Promise.all([settings.serviceAccountTokenFile, ...settings.identityFiles].map(resolveLinks));
  const ownData = await resolveLinks(settings.dataDirectory);
  const isOwn = (!isIdentity && own.includes(place)) || (ownData !== null && isBelow(place, ownData));
  if (isOwn || OF_PLATFORM.test(place))
    throw new CredentialFault(`${path} is an identity of the service itself, which is not sent to a provider`);
  return place;
}

/** Tokens that platforms mount beside secrets, for their own APIs. */
const OF_PLATFORM = /\/(?:kubernetes\.io|[\w.]*eks\.amazonaws\.com|(?:azure\/)?tokens)\//;

function isBelow(path: string, directory: string): boolean {
  const base = resolve(directory);
  return path.startsWith(base.endsWith(sep) ? base : base + sep);
}

async function resolveLinks(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch {
    return null;
  }
}

/** `shown` is the path in faults. */
async function readRegularFile(place: string, shown: string, flags: number): Promise<string> {
  try {
    // Opening a pipe without O_NONBLOCK would wait for its writer.
    await using file = await open(place, constants.O_RDONLY | constants.O_NONBLOCK | flags);
    const found = await file.stat();
    if (!found.isFile()) throw new CredentialFault(`${shown} is not a regular file`);
    if (found.size > bounds.credentialBytesMax)
      throw new CredentialFault(`the file ${shown} has more than ${bounds.credentialBytesMax} bytes`);
    const buffer = Buffer.alloc(bounds.credentialBytesMax);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    const text = buffer.toString('utf8', 0, bytesRead).trim();
    if (text === '') throw new CredentialFault(`the file ${shown} is empty`);
    return text;
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : null;
    if (code === 'ENOENT') throw new CredentialFault(`the file ${shown} does not exist`);
    if (code === 'EACCES' || code === 'EPERM')
      throw new CredentialFault(`the file ${shown} may not be read by the user of the service`);
    throw explainFault(`the file ${shown} cannot be read`, thrown);
  }
}
