// What became of the purchase of a plan, for a user who returns from the page of the payment provider.

import { Alert, Loader, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useFilters } from '../../filters.ts';
import { useMe } from '../../me.tsx';
import { ActionButton, Icon } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { useBoundedLooks } from '../billing/payment-return.tsx';

/** The address names the plan and what the provider's page reported; what is shown is what the API says. */
export function PurchaseReturn() {
  const { account } = useMe();
  const { values, set } = useFilters();
  const { plan: name, outcome } = values;
  if (name === undefined || account === null) return null;
  return (
    <Purchase
      key={name}
      accountId={account.id}
      name={name}
      isCanceled={outcome === 'canceled'}
      onClose={() => set({ plan: null, outcome: null })}
    />
  );
}

interface PurchaseProps {
  accountId: string;
  name: string;
  isCanceled: boolean;
  onClose: () => void;
}

function Purchase({ accountId, name, isCanceled, onClose }: PurchaseProps) {
  const { everyMs, isLate, lookAgain, settle } = useBoundedLooks(isCanceled);
  const { data, error } = useGet('/accounts/{id}/plan', { id: accountId, everyMs });
  if (data === undefined) return <FailureNotice failure={error} title="The plan cannot be shown" />;
  const isActive = data.plan === name && data.subscription !== null;
  if (isActive && everyMs !== undefined) settle();
  const { title, text, color, icon } = wordsOf(data.title ?? name, isActive, isCanceled, isLate);
  return (
    <Alert
      color={color}
      title={title}
      icon={icon}
      role="status"
      withCloseButton
      onClose={onClose}
      closeButtonLabel="Close"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{text}</Text>
        {!isActive && !isCanceled && isLate && <ActionButton label="Check again" size="xs" onClick={lookAgain} />}
      </Stack>
    </Alert>
  );
}

interface Words {
  title: string;
  text: string;
  color: string;
  icon: ReactNode;
}

function wordsOf(title: string, isActive: boolean, isCanceled: boolean, isLate: boolean): Words {
  if (isActive)
    return {
      title: 'Plan active',
      text: `The plan of the account is ${title}.`,
      color: 'teal',
      icon: <Icon name="check" />,
    };
  if (isCanceled)
    return { title: 'Purchase canceled', text: 'Nothing was charged.', color: 'gray', icon: <Icon name="stop" /> };
  return {
    title: 'Purchase is being processed',
    text: isLate
      ? 'Stripe has not confirmed it yet. The plan begins once it is confirmed.'
      : 'Waiting for the confirmation of Stripe. This page updates by itself.',
    color: 'blue',
    icon: isLate ? <Icon name="history" /> : <Loader size={18} />,
  };
}
