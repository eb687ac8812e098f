// Whose request it was, of which model, when and how it was answered.

import type { ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { isOfInstallation, useMe } from '../../me.tsx';
import { useNames } from '../../names.ts';
import { type Fact, Facts } from '../../parts/facts.tsx';
import { Section } from '../../parts/section.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { When } from '../../parts/when.tsx';
import { words } from '../../words.ts';

const { request: its } = words;

export function RequestFacts({ receipt }: { receipt: ReceiptShape }) {
  const names = useNames([receipt]);
  const me = useMe();
  const account = names.account(receipt.account);
  return (
    <Section title={its.facts}>
      <Facts
        facts={[
          { name: its.model, value: receipt.model },
          { name: its.group, value: receipt.group },
          isOfInstallation(me)
            ? { name: its.account, value: <TextLink to={`/accounts/${receipt.account}`}>{account}</TextLink> }
            : null,
          { name: its.key, value: <TextLink to={`/keys/${receipt.key}`}>{names.key(receipt.key)}</TextLink> },
          { name: its.received, value: <When at={receipt.received_at} isPrecise /> },
          { name: its.ended, value: <When at={receipt.at} isPrecise /> },
          { name: its.kind, value: receipt.stream ? its.streamed : its.whole },
          known(its.provider, receipt.provider),
          receipt.upstream_model === receipt.model ? null : known(its.upstreamModel, receipt.upstream_model),
          { name: its.usageSource, value: its.usageSources[receipt.usage_source] },
        ]}
      />
    </Section>
  );
}

function known(name: string, value: string | null): Fact | null {
  return value === null ? null : { name, value };
}
