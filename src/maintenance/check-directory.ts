// The data directory and its files: there, writable, closed to others, on a disk with room.

import { basename } from 'node:path';
import type { Finding } from '../commands/commands.ts';
import { bounds } from '../config.ts';
import type { Facts, FileFacts } from './facts.ts';

const MIB = 1024 * 1024;
const OWN_FILES =
  /^(?:(?:turnpike|sign-in)\.db(?:-wal|-shm)?|secret(?:\..*)?|operator\.json|first-(?:key|operator)\.txt|lock)$/;

export function checkDirectory(facts: Facts): Finding[] {
  const { dataDirectory, directory, postgres, isStoreKnown } = facts;
  // Of a database elsewhere it is looked at from anywhere: only a node has a directory, for what commands beside it need.
  if (directory === null && (postgres !== null || !isStoreKnown)) return [];
  if (directory === null)
    return [
      {
        severity: 'error',
        code: 'directory_missing',
        subject: `directory ${dataDirectory}`,
        message: 'The data directory is not there, or cannot be read: there is no installation to look at.',
        remedy: 'Name the right one with --data or TURNPIKE_DATA, or start the service, which makes it.',
      },
    ];
  const own = facts.files.filter(({ path }) => OWN_FILES.test(basename(path)));
  return [
    ...checkAccess(directory, own),
    ...checkModes(directory, own),
    ...checkOwners(directory, own),
    ...(postgres === null ? checkDisk(facts) : []),
    ...checkFirstKey(own),
  ];
}

function checkAccess(directory: FileFacts, files: readonly FileFacts[]): Finding[] {
  const closed = [directory, ...files].filter(({ isWritable }) => !isWritable).map(({ path }) => path);
  if (closed.length === 0) return [];
  return [
    {
      severity: 'error',
      code: 'not_writable',
      subject: `directory ${directory.path}`,
      message: `Whoever asks may not read and write ${closed.join(', ')}; a service of the same user could not either, and would not start.`,
      remedy: `Run this as the user of the service. If it is that user: chown -R USER ${directory.path}; or its file system is mounted for reading only: mount it for writing.`,
    },
  ];
}

function checkModes(directory: FileFacts, files: readonly FileFacts[]): Finding[] {
  const isOpen = ({ mode }: FileFacts) => (mode & 0o077) !== 0;
  const openFiles = files.filter(isOpen).map(
    ({ path, mode }): Finding => ({
      severity: isSecret(path) ? 'error' : 'warning',
      code: 'open_to_others',
      subject: `file ${path}`,
      message: `Other users of this machine may use it (mode ${octal(mode)}): it holds secrets, or what they protect.`,
      remedy: `chmod 600 ${path}`,
    }),
  );
  if (!isOpen(directory)) return openFiles;
  return [
    {
      severity: 'warning',
      code: 'open_to_others',
      subject: `directory ${directory.path}`,
      message: `Other users of this machine may look into it (mode ${octal(directory.mode)}).`,
      remedy: `chmod 700 ${directory.path}`,
    },
    ...openFiles,
  ];
}

/** Whoever restores as another user leaves files that the service cannot write. */
function checkOwners(directory: FileFacts, files: readonly FileFacts[]): Finding[] {
  const others = files.filter(({ owner }) => owner !== directory.owner).map(({ path }) => path);
  if (others.length === 0) return [];
  return [
    {
      severity: 'warning',
      code: 'other_owner',
      subject: `directory ${directory.path}`,
      message: `It belongs to user ${directory.owner}, and these in it to another: ${others.join(', ')}. The service may not be able to write them.`,
      remedy: `chown -R ${directory.owner} ${directory.path}`,
    },
  ];
}

function checkDisk({ diskFreeBytes, dataDirectory }: Facts): Finding[] {
  if (diskFreeBytes === null || diskFreeBytes >= bounds.diskFreeBytesLow) return [];
  return [
    {
      severity: diskFreeBytes < bounds.diskFreeBytesLeast ? 'error' : 'warning',
      code: 'disk_nearly_full',
      subject: `directory ${dataDirectory}`,
      message: `Its disk has ${Math.floor(diskFreeBytes / MIB)} MiB left. When it is full, nothing can be billed, and messages are refused with store_unavailable.`,
      remedy: 'Make room, or move the directory to a larger disk while the service is stopped.',
    },
  ];
}

function checkFirstKey(files: readonly FileFacts[]): Finding[] {
  const file = files.find(({ path }) => basename(path) === 'first-key.txt');
  if (file === undefined) return [];
  return [
    {
      severity: 'warning',
      code: 'first_key_file',
      subject: `file ${file.path}`,
      message:
        "The key of the first start still lies on the disk in the clear: whoever reads the file can spend its account's balance.",
      remedy: `Keep the key elsewhere and remove the file (rm ${file.path}), or revoke the key.`,
    },
  ];
}

function isSecret(path: string): boolean {
  return /^(?:secret|operator\.json|first-)/.test(basename(path));
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
