// The plans that are offered to account holders, with a button to buy each or to change to it.

import { Badge, Card, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import type { AccountPlanShape, PlanShape } from '../../../src/admin-api/shapes.ts';
import { useMe } from '../../me.tsx';
import { Money } from '../../parts/money.tsx';
import { FailureNotice, Heading, Hint } from '../../parts/page.tsx';
import { useGet, useList } from '../../queries.ts';
import { limitTexts } from '../groups/limits.ts';
import { BuyButton } from './subscription.tsx';
import { allowanceTexts } from './windows.ts';

/** For owners; operators give plans by hand. */
export function OfferedPlans({ plan }: { plan: AccountPlanShape }) {
  const { role } = useMe();
  const plans = useList('/plans', { query: { limit: 1000 }, isEnabled: role === 'owner' });
  const offered = plans.rows.filter(({ offered: isOffered }) => isOffered);
  const present = offered.find(({ name }) => name === plan.plan) ?? null;
  if (role !== 'owner') return null;
  if (plans.failure !== null) return <FailureNotice failure={plans.failure} onRetry={plans.reload} />;
  if (offered.length === 0) return plans.isLoading ? null : <Hint>This installation offers no plans.</Hint>;
  return (
    <section aria-labelledby="offered-plans">
      <Heading mb="sm" id="offered-plans">
        Offered plans
      </Heading>
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 3 }}>
        {offered.map((one) => (
          <OfferedPlan key={one.name} offered={one} plan={plan} present={present} />
        ))}
      </SimpleGrid>
    </section>
  );
}

interface OfferedPlanProps {
  offered: PlanShape;
  /** What the account has now. */
  plan: AccountPlanShape;
  /** The same, if it is offered. */
  present: PlanShape | null;
}

function OfferedPlan({ offered, plan, present }: OfferedPlanProps) {
  const limits = limitTexts(offered.limits);
  const isCurrent = plan.plan === offered.name;
  return (
    <Card component="article" aria-label={offered.title}>
      <Stack gap="xs" h="100%">
        <Group justify="space-between" wrap="nowrap">
          <Text fw={600} className="wrap">
            {offered.title}
          </Text>
          {isCurrent && <Badge style={{ flex: 'none' }}>Current plan</Badge>}
        </Group>
        <Text>
          <Money usd={offered.price} precision="exact" fz={24} fw={650} />{' '}
          <Text span size="sm" c="dimmed">
            per month
          </Text>
        </Text>
        {allowanceTexts(offered).map((text) => (
          <Text key={text} size="sm">
            {text}
          </Text>
        ))}
        {offered.groups.length > 0 && <Hint size="xs">{`Pays for requests in: ${offered.groups.join(', ')}`}</Hint>}
        {limits.length > 0 && <Hint size="xs">{limits.join(' · ')}</Hint>}
        <Group mt="auto" pt="xs">
          {!isCurrent && <Purchase offered={offered} plan={plan} present={present} />}
        </Group>
      </Stack>
    </Card>
  );
}

function Purchase({ offered, plan, present }: OfferedPlanProps) {
  const options = useGet('/payment-options').data;
  if (plan.subscription?.next_plan === offered.name) return <Hint>Your plan from next month.</Hint>;
  if (!offered.for_sale || options?.provider == null) return <Hint>Ask the operator for this plan.</Hint>;
  return <BuyButton offered={offered} plan={plan} presentPrice={present?.price ?? null} />;
}
