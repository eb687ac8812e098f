// The amounts below which an account's users are notified.

import { Stack } from '@mantine/core';
import { useState } from 'react';
import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { amountOf } from '../../amounts.ts';
import { call } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useMe } from '../../me.tsx';
import { formatExactMoney } from '../../money.ts';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { TagsInput } from '../../parts/later.tsx';
import { TextLink } from '../../parts/link.tsx';
import { Hint, Section } from '../../parts/page.tsx';
import { useChange } from '../../queries.ts';

const FIELDS = ['low_balances'];

export function LowBalances({ account }: { account: AccountShape }) {
  const { role } = useMe();
  return (
    <Section
      title="Low balance notices"
      text={
        <>
          When available funds fall below one of these amounts, a notice is sent to the{' '}
          <TextLink to="/destinations" underline="always">
            destinations of notifications
          </TextLink>
          .
        </>
      }
    >
      {role === 'viewer' ? (
        <Hint>{account.low_balances.map(formatExactMoney).join(', ') || 'None'}</Hint>
      ) : (
        // Another form when another user changes the amounts.
        <LowBalancesForm key={account.low_balances.join()} account={account} />
      )}
    </Section>
  );
}

function LowBalancesForm({ account: { id, low_balances: before } }: { account: AccountShape }) {
  const [amounts, setAmounts] = useState(before);
  const change = useChange(() => call('PATCH /accounts/{id}', { id, body: { low_balances: amounts } }), {
    done: 'Low balance notices saved.',
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(undefined);
      }}
      noValidate
    >
      <Stack>
        <TagsInput
          label="Amounts (USD)"
          description="Press Enter to add one."
          {...(amounts.length === 0 && { placeholder: '5.00' })}
          acceptValueOnBlur
          value={amounts}
          onChange={(texts) => setAmounts(texts.map((text) => amountOf(text)))}
          error={fieldFaults(change.error, FIELDS)?.['low_balances']}
        />
        <FormFailure failure={change.error} fields={FIELDS} />
        <FormActions label="Save" isPending={change.isPending} isDisabled={amounts.join() === before.join()} />
      </Stack>
    </form>
  );
}
