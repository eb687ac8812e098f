// `turnpike secret …`: replaces the secret of an installation that keeps it in its data directory,
// and tells of any installation what still depends on the one before it.

import { type Command, type Flag, type Invocation, storeFlags } from './command.ts';
import { inWords } from './failure-words.ts';
import { storeOf } from './flags.ts';
import type { Maintenance, SecretDependent } from './maintenance.ts';
import { printObject } from './output.ts';

const STATES: Record<string, string> = {
  in_force: 'in force',
  at_next_start: 'in force from the next start of the service on',
  wrong: 'not the one that the installation is under',
  missing: 'missing',
  not_started: 'in force from the first start on',
};

const forceFlag: Record<string, Flag> = {
  force: { help: 'give up the keys and tokens that still depend on the previous secret' },
};

const status: Command = {
  name: 'secret status',
  summary: 'tells how many keys and tokens still depend on the previous secret',
  positionals: [],
  flags: storeFlags,
  async run(invocation) {
    const found = await ask(invocation, (maintenance, config) => maintenance.secretStatus(config));
    await printObject(invocation, { ...found }, [
      ['SECRET', 'secret'],
      ['STATE', () => STATES[found.state]],
      ['PREVIOUS SECRET', 'previous_secret'],
      ['KEYS ON PREVIOUS', 'keys_on_previous'],
      ['TOKENS ON PREVIOUS', 'tokens_on_previous'],
      ['CREDENTIALS ON PREVIOUS', 'credentials_on_previous'],
      ['OF THEM', () => namesOf([...found.keys, ...found.tokens])],
      ['KEYS LOST', 'keys_lost'],
      ['TOKENS LOST', 'tokens_lost'],
    ]);
    return found.state === 'in_force' || found.state === 'at_next_start' ? 0 : 1;
  },
};

const rotate: Command = {
  name: 'secret rotate',
  summary: 'makes a new secret, in force from the next start on; the present one is accepted until it is forgotten',
  positionals: [],
  flags: { ...forceFlag, ...storeFlags },
  async run(invocation) {
    const made = await ask(invocation, (maintenance, config, isForced) => maintenance.rotateSecret(config, isForced));
    await printObject(invocation, made, [
      ['SECRET', 'secret'],
      ['PREVIOUS SECRET', 'previous_secret'],
    ]);
    await invocation.world.writeError(
      'Restart the service: until then it works under the previous secret. Keep both beside the next backup; "turnpike secret status" tells when the previous one can be forgotten.\n',
    );
    return 0;
  },
};

const forget: Command = {
  name: 'secret forget-previous',
  summary: 'removes the previous secret; refused while keys or tokens depend on it',
  positionals: [],
  flags: { ...forceFlag, ...storeFlags },
  async run(invocation) {
    const done = await ask(invocation, (maintenance, config, isForced) =>
      maintenance.forgetPreviousSecret(config, isForced),
    );
    await printObject(invocation, done, [['FORGOTTEN', (row) => (row['forgotten'] ? 'yes' : 'there was none')]]);
    if (done.forgotten) await invocation.world.writeError('A service that runs accepts it until its next start.\n');
    return 0;
  },
};

function namesOf(dependents: readonly SecretDependent[]): string {
  return dependents.map(({ id, name }) => (name === '' ? id : `${id} (${name})`)).join(', ');
}

export const secretCommands: readonly Command[] = [status, rotate, forget];

async function ask<Value>(
  { flags, world }: Invocation,
  work: (maintenance: Maintenance, config: ReturnType<typeof world.readConfig>, isForced: boolean) => Promise<Value>,
): Promise<Value> {
  const config = world.readConfig(storeOf(flags));
  return work(await world.maintain(), config, flags['force'] === true).catch(inWords);
}
