// The file of who signs in to the console, where it is one: whole.

import type { Finding } from '../commands/commands.ts';
import type { Facts } from './facts.ts';

export function checkSignIn({ dataDirectory, signInFaults }: Facts): Finding[] {
  if (signInFaults.length === 0) return [];
  return [
    {
      severity: 'error',
      code: 'sign_in_broken',
      subject: `file ${dataDirectory}/sign-in.db`,
      message: `The file is damaged (${signInFaults.slice(0, 3).join('; ')}): people may not be able to sign in to the console. Messages, keys and tokens do not depend on it.`,
      remedy:
        'Stop the service, look at the disk, and take the file from the last backup; or remove it with its -wal and -shm, start, and give people another link ("turnpike person link ID").',
    },
  ];
}
