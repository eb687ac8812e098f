// `turnpike refund`: gives back what a message cost, or a part of it.

import { openClient } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { checkAmount, textFlag } from './flags.ts';
import { printObject } from './output.ts';

export const refund: Command = {
  name: 'refund',
  summary: 'gives back what a message cost: the amount, or all that was paid for it and not given back yet',
  positionals: ['REQUEST_ID', '[AMOUNT]'],
  flags: { note: { value: 'TEXT', help: 'a remark in the journal' }, ...clientFlags },
  async run(invocation) {
    const { flags, positionals } = invocation;
    const [requestId = '', amount] = positionals;
    const body = {
      amount: amount === undefined ? undefined : checkAmount(amount, 'AMOUNT'),
      note: textFlag(flags, 'note'),
    };
    const client = await openClient(invocation);
    const given = await client.post(`/usage/${encodeURIComponent(requestId)}/refunds`, body);
    await printObject(invocation, given, [
      ['REQUEST', 'request_id'],
      ['ACCOUNT', 'account'],
      ['AMOUNT', 'amount'],
      ['BALANCE', 'balance'],
      ['NOTE', 'note'],
    ]);
    return 0;
  },
};
