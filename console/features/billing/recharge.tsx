// Buys credit on the page of the payment provider: an offered amount, or another within the operator's bounds.

import { Chip, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import type { PaymentOptionsShape } from '../../../src/admin-api/shapes.ts';
import { readDecimal } from '../../figures.ts';
import { fieldFaults } from '../../form-faults.ts';
import { SupportLink } from '../../installation.tsx';
import { formatExactMoney, nanoOf, usdOf } from '../../money.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { Hint, Section } from '../../parts/page.tsx';
import { useCreate } from '../../queries.ts';

const OTHER = 'other';
const FIELDS = ['amount'];

export function Recharge({ options }: { options: PaymentOptionsShape }) {
  return (
    <Section
      title="Recharge"
      {...(options.provider !== null && { text: 'Pay by card or bank on a page hosted by Stripe.' })}
    >
      {options.provider === null ? (
        <NoPayments instructions={options.instructions} />
      ) : (
        <RechargeForm options={options} />
      )}
    </Section>
  );
}

/** What the operator says, or whom to ask. */
function NoPayments({ instructions }: Pick<PaymentOptionsShape, 'instructions'>) {
  return (
    <Stack gap="xs">
      {instructions === null ? (
        <Hint>Online payments are not available. Ask the operator for credit, or redeem a code.</Hint>
      ) : (
        <Text size="sm" className="wrap" style={{ whiteSpace: 'pre-line' }}>
          {instructions}
        </Text>
      )}
      <SupportLink />
    </Stack>
  );
}

function RechargeForm({ options: { amounts, minimum, maximum, bonuses } }: { options: PaymentOptionsShape }) {
  const [choice, setChoice] = useState(amounts[0] ?? OTHER);
  const [typed, setTyped] = useState('');
  const paying = useCreate('POST /payments', {
    onDone({ checkout_url: url }) {
      if (url !== null) window.location.assign(url);
      else notifications.show({ message: 'This payment is already complete.', color: 'yellow' });
    },
  });
  const amount = choice === OTHER ? typed.trim() : choice;
  const range = `${formatExactMoney(minimum)} to ${formatExactMoney(maximum)}, excluding taxes`;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        paying.mutate({ amount });
      }}
      noValidate
    >
      <Stack>
        <AmountChoice amounts={amounts} choice={choice} onChange={setChoice} />
        {choice === OTHER && (
          <AmountField
            label="Amount (USD)"
            description={range}
            leftSection="$"
            maw={260}
            value={typed}
            onChange={setTyped}
            error={fieldFaults(paying.error, FIELDS)?.['amount']}
          />
        )}
        {choice !== OTHER && (
          <Text size="sm">{`${formatExactMoney(amount)} is added to the balance. Taxes may be added to the price.`}</Text>
        )}
        <Bonus amount={nanoOf(amount)} bonuses={bonuses} />
        <FormFailure failure={paying.error} fields={choice === OTHER ? FIELDS : []} />
        <FormActions
          label="Continue to payment"
          isPending={paying.isPending || paying.data?.checkout_url != null}
          isDisabled={nanoOf(amount) <= 0n}
        />
      </Stack>
    </form>
  );
}

interface AmountChoiceProps {
  amounts: readonly string[];
  choice: string;
  onChange: (choice: string) => void;
}

function AmountChoice({ amounts, choice, onChange }: AmountChoiceProps) {
  return (
    <Chip.Group value={choice} onChange={(value) => onChange(value as string)}>
      <Group gap="xs" role="radiogroup" aria-label="Amount">
        {amounts.map((usd) => (
          <Chip key={usd} value={usd} name="amount">
            {formatExactMoney(usd)}
          </Chip>
        ))}
        <Chip value={OTHER} name="amount">
          Other amount
        </Chip>
      </Group>
    </Chip.Group>
  );
}

interface BonusProps {
  /** Nanodollars. */
  amount: bigint;
  bonuses: PaymentOptionsShape['bonuses'];
}

/** The bonus of the chosen amount, and the steps that give more. */
function Bonus({ amount, bonuses }: BonusProps) {
  const reached = bonuses.findLast(({ from }) => amount >= nanoOf(from));
  const next = bonuses.find(({ from }) => amount < nanoOf(from));
  const usd = (nano: bigint) => formatExactMoney(usdOf(nano));
  const parts = [
    reached !== undefined && `Bonus: ${usd(bonusOf(amount, reached.percent))} (${reached.percent}%).`,
    next !== undefined && `From ${formatExactMoney(next.from)}, you get a bonus of ${next.percent}%.`,
  ].filter((part) => part !== false);
  return parts.length > 0 && <Text size="sm">{parts.join(' ')}</Text>;
}

/** As the service rounds it: down. */
export function bonusOf(amount: bigint, percent: string): bigint {
  return (amount * (readDecimal(percent, PERCENT_DIGITS) ?? 0n)) / 10_000n;
}

const PERCENT_DIGITS = 2;
