// `turnpike doctor`: says what is wrong with an installation, what that means and what to do, whether
// its service runs or not, and however broken it is.

import { askService } from './ask-service.ts';
import { type Command, clientFlags, type Invocation, storeFlags } from './command.ts';
import { storeOf, textFlag } from './flags.ts';
import type { Diagnosis, Finding } from './maintenance.ts';

export const doctor: Command = {
  name: 'doctor',
  summary: 'says what is wrong with this installation, with the remedy; exits 1 when there is an error',
  positionals: [],
  flags: { ...clientFlags, ...storeFlags },
  async run(invocation) {
    const { flags, world, json } = invocation;
    const [url, token] = [textFlag(flags, 'url'), textFlag(flags, 'token')];
    const { config, faults } = world.inspectConfig(storeOf(flags));
    const service = await askService(config, { url, token });
    const { findings, notes, place } = await (await world.maintain()).diagnose(config, faults, service);
    if (json) await world.write(`${JSON.stringify(findings, null, 2)}\n`);
    else await world.write(inWords(place, findings));
    await sayNotes(invocation, notes);
    return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
  },
};

function inWords(place: string, findings: readonly Finding[]): string {
  if (findings.length === 0) return `Nothing is wrong with the installation in ${place}.\n`;
  return `${findings.map(paragraph).join('\n\n')}\n`;
}

/** What could steer a terminal is taken out: names in it are anybody's. */
function paragraph({ severity, code, subject, message, remedy }: Finding): string {
  const lines = [`${severity}: ${subject} (${code})`, `  ${message}`, `  Remedy: ${remedy}`];
  return lines.map((line) => line.replace(/\p{Cc}+/gu, ' ')).join('\n');
}

async function sayNotes({ world }: Invocation, notes: Diagnosis['notes']): Promise<void> {
  for (const note of notes) await world.writeError(`${note}\n`);
}
