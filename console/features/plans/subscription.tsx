// The subscription that pays the plan of an account: its state, canceling and resuming it, and buying or changing a plan.

import { Alert, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { AccountPlanShape, PlanShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { useMe } from '../../me.tsx';
import { formatExactMoney, nanoOf } from '../../money.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { ActionButton, Icon } from '../../parts/link.tsx';
import { FailureNotice, Hint } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange } from '../../queries.ts';

/** Nothing for a plan that was given by hand. */
export function SubscriptionState({ plan }: { plan: AccountPlanShape }) {
  const mayChange = useMe().role !== 'viewer';
  const { account: id, subscription } = plan;
  const cancel = useChange(() => call('POST /accounts/{id}/subscription/cancel', { id, body: {} }), {
    done: 'Subscription canceled.',
  });
  if (subscription === null) return null;
  if (subscription.cancels_at !== null || subscription.next_plan !== null) return <PlannedEnd plan={plan} />;
  return (
    <Group justify="space-between">
      <Group gap="xs">
        <StatusBadge status="enabled" label="Subscribed" />
        <Hint>Renewed each month.</Hint>
      </Group>
      {mayChange && (
        <ConfirmButton
          size="xs"
          variant="default"
          label="Cancel subscription"
          title="Cancel the subscription?"
          text="The plan stays until the end of the paid month and is not renewed. You can resume it until then."
          change={cancel}
          input={undefined}
        />
      )}
    </Group>
  );
}

/** A cancellation, or a change to a cheaper plan: both happen at the end of the paid month. */
function PlannedEnd({ plan: { account: id, subscription, paid_until: paidUntil } }: { plan: AccountPlanShape }) {
  const mayChange = useMe().role !== 'viewer';
  const isCanceled = subscription?.cancels_at != null;
  const resume = useChange(() => call('POST /accounts/{id}/subscription/resume', { id, body: {} }), {
    done: isCanceled ? 'Subscription resumed.' : 'The plan stays as it is.',
  });
  return (
    <Alert color={isCanceled ? 'orange' : 'blue'} icon={<Icon name={isCanceled ? 'warning' : 'calendar'} />}>
      <Group justify="space-between">
        <Text size="sm">
          {isCanceled
            ? 'The subscription is canceled. The plan ends: '
            : `The plan changes to ${subscription?.next_plan}: `}
          <When at={subscription?.cancels_at ?? paidUntil} />
        </Text>
        {mayChange && (
          <ActionButton
            label={isCanceled ? 'Resume subscription' : 'Keep current plan'}
            size="xs"
            onClick={() => resume.mutate(undefined)}
            loading={resume.isPending}
          />
        )}
      </Group>
      <FailureNotice failure={resume.error} />
    </Alert>
  );
}

interface BuyButtonProps {
  offered: PlanShape;
  /** What the account has now. */
  plan: AccountPlanShape;
  /** The price of what it has now; null if it is unknown. */
  presentPrice: string | null;
}

export function BuyButton({ offered: { name, title, price }, plan, presentPrice }: BuyButtonProps) {
  const buy = () => call('POST /accounts/{id}/subscription', { id: plan.account, body: { plan: name } });
  const buying = useChange(buy, {
    onDone({ url, plan: { subscription } }) {
      if (url !== null) window.location.assign(url);
      else if (subscription?.next_plan === name)
        notifications.show({ message: `The plan changes to ${title} next month.`, color: 'road' });
      else notifications.show({ message: `The plan changes to ${title}.`, color: 'road' });
    },
  });
  if (plan.subscription !== null)
    return (
      <ConfirmButton
        label={`Change to ${title}`}
        variant="default"
        color="road"
        title={`Change to ${title}?`}
        text={changeText(price, presentPrice)}
        change={buying}
        input={undefined}
      />
    );
  return (
    <Stack gap="xs">
      <ActionButton
        label={`Buy ${title}`}
        isPrimary
        onClick={() => buying.mutate(undefined)}
        loading={buying.isPending || buying.data?.url != null}
      />
      <FailureNotice failure={buying.error} />
    </Stack>
  );
}

function changeText(price: string, presentPrice: string | null): string {
  if (presentPrice !== null && nanoOf(price) < nanoOf(presentPrice))
    return 'The change applies at the end of the paid month. Nothing is charged until then.';
  return `A new billing month starts now. Stripe charges ${formatExactMoney(price)}, less a credit for the rest of the current month. Used allowance stays used.`;
}
