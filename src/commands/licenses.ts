// `turnpike licenses`: the notices that the licenses of third-party software ask for. Needs no file besides the
// executable.

import type { Command, Notice } from './command.ts';

const RULE = '-'.repeat(78);

export const licenses: Command = {
  name: 'licenses',
  summary: 'Print the licenses of the software that this program contains',
  flags: {},
  async run({ world, json }) {
    const notices = await world.readNotices();
    if (json) await world.write(`${JSON.stringify(notices, null, 2)}\n`);
    else await world.write(`${heading(world.readVersion())}\n${notices.map(paragraph).join('\n')}`);
    return 0;
  },
};

function heading(version: string): string {
  return `Turnpike ${version} is licensed under the Apache License 2.0. It contains the following software.\n`;
}

function paragraph({ packages, license, text }: Notice): string {
  return `${RULE}\n${packages.join(', ')}\nLicense: ${license}\n\n${text}\n`;
}
