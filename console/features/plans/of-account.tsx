// The plan of an account: what is left in its windows, when it ends, and the plans that can be bought instead.

import { SimpleGrid, Stack, Switch, Text } from '@mantine/core';
import type { AccountPlanShape, AccountShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { windowTexts } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { Money, UsedBar } from '../../parts/money.tsx';
import { Facts, FailureNotice, Hint, Loading, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet } from '../../queries.ts';
import { BillingPage } from '../billing/page.tsx';
import { PlanGiveButton } from './give.tsx';
import { OfferedPlans } from './offered.tsx';
import { SubscriptionState } from './subscription.tsx';
import { windowLabels } from './windows.ts';

const REFRESH_MS = 5_000;

export function AccountPlan() {
  return <BillingPage name="plan">{(account) => <PlanOf account={account} />}</BillingPage>;
}

function PlanOf({ account }: { account: AccountShape }) {
  const { data, error, refetch } = useGet('/accounts/{id}/plan', { id: account.id, everyMs: REFRESH_MS });
  if (data === undefined || data.account !== account.id)
    return error === null ? <Loading /> : <FailureNotice failure={error} onRetry={() => void refetch()} />;
  return (
    <>
      <CurrentPlan plan={data} />
      <OfferedPlans plan={data} />
    </>
  );
}

function CurrentPlan({ plan }: { plan: AccountPlanShape }) {
  const { role, hidden } = useMe();
  return (
    <Section
      title={plan.plan === null ? 'No plan' : (plan.title ?? plan.plan)}
      aside={role === 'operator' && plan.subscription === null && <PlanGiveButton plan={plan} />}
    >
      {plan.plan === null ? (
        <Hint>The balance pays for all requests of this account.</Hint>
      ) : (
        <>
          <SubscriptionState plan={plan} />
          <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="lg">
            {plan.windows.map((window) => (
              <PlanWindow key={window.length} window={window} />
            ))}
          </SimpleGrid>
          <Facts
            facts={[
              hidden.includes('group')
                ? null
                : { name: 'Pays for', value: plan.groups?.join(', ') ?? 'All groups of the account' },
              plan.paid_until === null ? null : { name: 'Paid until', value: <When at={plan.paid_until} /> },
              { name: 'Ends', value: <When at={plan.ends_at} /> },
            ]}
          />
          <Overflow plan={plan} />
        </>
      )}
    </Section>
  );
}

function PlanWindow({ window }: { window: AccountPlanShape['windows'][number] }) {
  const { length, limit, used, remaining, resets_at: resetsAt } = window;
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {windowLabels[length]}
      </Text>
      <UsedBar used={used} limit={limit} label={`Used ${windowTexts[length]}`} />
      <Hint size="xs" component="div">
        <Money usd={remaining} />
        {' left · '}
        {resetsAt === null ? (
          'starts with the next request'
        ) : (
          <>
            resets <When at={resetsAt} isRelative />
          </>
        )}
      </Hint>
    </Stack>
  );
}

function Overflow({ plan }: { plan: AccountPlanShape }) {
  const { role } = useMe();
  const change = useChange(
    (overflow: boolean) => call('PATCH /accounts/{id}/plan', { id: plan.account, body: { overflow } }),
    { done: 'Plan saved.' },
  );
  return (
    <>
      <Switch
        label="Use the balance when the plan is exhausted"
        description="Otherwise requests beyond the allowance are rejected until it resets."
        checked={plan.overflow === true}
        disabled={role === 'viewer' || change.isPending}
        onChange={({ currentTarget }) => change.mutate(currentTarget.checked)}
      />
      <FailureNotice failure={change.error} />
    </>
  );
}
