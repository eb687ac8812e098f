// Checks the data directory: present, writable, closed to other users, on a disk with free space.

import { basename } from 'node:path';
import { bounds } from '../config/config.ts';
import { error, type Facts, type FileFacts, type Findings, warning } from './facts.ts';

const MIB = 1024 * 1024;
const OWN_FILES =
  /^(?:(?:turnpike|sign-in)\.db(?:-wal|-shm)?|secret(?:\..*)?|operator\.json|first-(?:key|operator)\.txt|lock(?:-journal)?|last-commit)$/;

export function* checkDirectory(facts: Facts): Findings {
  const { dataDirectory, directory, postgres, isStoreKnown, diskFreeBytes } = facts;
  const subject = `directory ${dataDirectory}`;
  if (directory === null) {
    // With PostgreSQL the doctor may run on a machine without a node, and so without a data directory.
    if (postgres === null && isStoreKnown)
      yield error('directory_missing', subject, {
        message: 'The data directory does not exist or cannot be read: there is no installation to check.',
        remedy: 'Specify the correct one with --data or TURNPIKE_DATA, or start the service, which creates it.',
      });
    return;
  }
  yield* checkAccess(
    directory,
    facts.files.filter(({ path }) => OWN_FILES.test(basename(path))),
  );
  if (postgres === null && diskFreeBytes !== null && diskFreeBytes < bounds.diskFreeBytesLow)
    yield (diskFreeBytes < bounds.diskFreeBytesLeast ? error : warning)('disk_nearly_full', subject, {
      message: `The disk has ${Math.floor(diskFreeBytes / MIB)} MiB left. When it is full, nothing can be billed, and messages are refused with store_unavailable.`,
      remedy: 'Free space, or move the directory to a larger disk while the service is stopped.',
    });
}

function* checkAccess(directory: FileFacts, files: readonly FileFacts[]): Findings {
  const subject = `directory ${directory.path}`;
  const closed = [directory, ...files].filter(({ isWritable }) => !isWritable).map(({ path }) => path);
  if (closed.length > 0)
    yield error('not_writable', subject, {
      message: `This user cannot read and write ${closed.join(', ')}: a service that runs as the same user does not start.`,
      remedy: `Run this command as the user of the service. If that is this user: chown -R USER ${directory.path}; or, if the file system is mounted read-only, remount it read-write.`,
    });
  if (isOpen(directory))
    yield warning('open_to_others', subject, {
      message: `Other users of this machine can access it (mode ${octal(directory.mode)}).`,
      remedy: `chmod 700 ${directory.path}`,
    });
  for (const { path, mode } of files.filter(isOpen))
    yield (/^(?:secret|operator\.json|first-)/.test(basename(path)) ? error : warning)(
      'open_to_others',
      `file ${path}`,
      {
        message: `Other users of this machine can access it (mode ${octal(mode)}): it contains secrets, or data that they protect.`,
        remedy: `chmod 600 ${path}`,
      },
    );
  // A restore as another user leaves files that the service cannot write.
  const others = files.filter(({ owner }) => owner !== directory.owner).map(({ path }) => path);
  if (others.length > 0)
    yield warning('other_owner', subject, {
      message: `It belongs to user ${directory.owner}, but these files belong to another user: ${others.join(', ')}. The service may not be able to write them.`,
      remedy: `chown -R ${directory.owner} ${directory.path}`,
    });
  const firstKey = files.find(({ path }) => basename(path) === 'first-key.txt');
  if (firstKey !== undefined)
    yield warning('first_key_file', `file ${firstKey.path}`, {
      message:
        'The key of the first start is still on the disk in plain text: everyone who can read the file can spend the balance of its account.',
      remedy: `Store the key elsewhere and remove the file (rm ${firstKey.path}), or revoke the key.`,
    });
}

function isOpen({ mode }: FileFacts): boolean {
  return (mode & 0o077) !== 0;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
