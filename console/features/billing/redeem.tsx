// Redeems a code for credit.

import { Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { call } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { formatExactMoney } from '../../money.ts';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { Section } from '../../parts/page.tsx';
import { useChange } from '../../queries.ts';

const FIELDS = ['code'];

export function Redeem({ accountId }: { accountId: string }) {
  const [code, setCode] = useState('');
  const redeeming = useChange(() => call('POST /accounts/{id}/redemptions', { id: accountId, body: { code } }), {
    onDone({ amount, repeated }) {
      notifications.show({
        message: repeated
          ? 'This account already redeemed this code. The balance did not change.'
          : `${formatExactMoney(amount)} was added to the balance.`,
        color: repeated ? 'yellow' : 'road',
      });
      setCode('');
    },
  });
  return (
    <Section title="Redeem code" text="Each code adds its amount to the balance once.">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          redeeming.mutate(undefined);
        }}
        noValidate
      >
        <Stack>
          <TextInput
            label="Code"
            placeholder="7K3QD-0V8RE-2M5XA-9C4TH"
            autoComplete="off"
            spellCheck={false}
            value={code}
            onChange={({ currentTarget }) => setCode(currentTarget.value)}
            error={fieldFaults(redeeming.error, FIELDS)?.['code']}
          />
          <FormFailure failure={redeeming.error} fields={FIELDS} />
          <FormActions label="Redeem" isPending={redeeming.isPending} isDisabled={code.trim() === ''} />
        </Stack>
      </form>
    </Section>
  );
}
