// `turnpike credit`: adds to an account's balance, or writes its debt off, once for each reference.

import { openClient } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { checkAmount, choiceFlag, textFlag } from './flags.ts';
import { printObject } from './output.ts';

export const credit: Command = {
  name: 'credit',
  summary: 'adds credit to an account; a negative amount is a correction, refused below what is available',
  positionals: ['ACCOUNT', 'AMOUNT'],
  flags: {
    kind: {
      value: 'KIND',
      help: 'payment, promotion, adjustment, or write_off for a debt that is given up (default: payment; adjustment for a negative amount)',
    },
    note: { value: 'TEXT', help: 'a remark in the journal' },
    reference: { value: 'R', help: 'the same reference twice credits the account once' },
    ...clientFlags,
  },
  async run(invocation) {
    const { flags, positionals, world } = invocation;
    const [account = '', amount = ''] = positionals;
    const body = {
      amount: checkAmount(amount, 'AMOUNT'),
      kind: choiceFlag(flags, 'kind', ['payment', 'promotion', 'adjustment', 'write_off']),
      note: textFlag(flags, 'note'),
      reference: textFlag(flags, 'reference'),
    };
    const client = await openClient(invocation);
    const given = await client.post(`/accounts/${encodeURIComponent(account)}/credits`, body);
    if (given['repeated'] === true)
      await world.writeError(`This reference was credited before: nothing was added again.\n`);
    await printObject(invocation, given, [
      ['ACCOUNT', 'account'],
      ['AMOUNT', 'amount'],
      ['BALANCE', 'balance'],
      ['REFERENCE', 'reference'],
      ['NOTE', 'note'],
    ]);
    return 0;
  },
};
