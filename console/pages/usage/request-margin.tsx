// What the installation keeps of what a request cost. For who sees what providers charge.

import { Text } from '@mantine/core';
import type { ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { isOfInstallation, useMe } from '../../me.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Money, nanoOf, usdOf } from '../../parts/money.tsx';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words.ts';

const { request: its } = words;

export function RequestMargin({ receipt }: { receipt: ReceiptShape }) {
  if (!isOfInstallation(useMe())) return null;
  const { cost, written_off, provider_cost, margin } = receipt;
  if (provider_cost === null)
    return (
      <Section title={its.margin}>
        <Text size="sm" c="dimmed">
          {its.noProviderCost}
        </Text>
      </Section>
    );
  const paid = usdOf(nanoOf(cost) - nanoOf(written_off));
  return (
    <Section title={its.margin}>
      <Facts
        facts={[
          { name: its.marginParts.paid, value: <Money usd={paid} /> },
          { name: its.marginParts.providerCost, value: <Money usd={provider_cost} /> },
          {
            name: its.marginParts.margin,
            value: <Money usd={margin} fw={650} {...(margin?.startsWith('-') === true && { c: 'red' })} />,
          },
        ]}
      />
    </Section>
  );
}
