// Shows the result of a plan purchase to a user who returns from the payment provider's page.

import { Loader } from '@mantine/core';
import { useFilters } from '../../filters.ts';
import { useMe } from '../../me.tsx';
import { ActionButton, Icon } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { ReturnNotice, type ReturnWords, useBoundedPolling } from '../billing/return-notice.tsx';

/** The URL names the plan and the outcome that the page reported; the state shown comes from the API. */
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
  const { everyMs, isLate, pollAgain, settle } = useBoundedPolling(isCanceled);
  const { data, error } = useGet('/accounts/{id}/plan', { id: accountId, everyMs });
  if (data === undefined) return <FailureNotice failure={error} title="The plan cannot be shown" />;
  const isActive = data.plan === name && data.subscription !== null;
  if (isActive && everyMs !== undefined) settle();
  return (
    <ReturnNotice words={wordsOf(data.title ?? name, isActive, isCanceled, isLate)} onClose={onClose}>
      {!isActive && !isCanceled && isLate && <ActionButton label="Check again" size="xs" onClick={pollAgain} />}
    </ReturnNotice>
  );
}

function wordsOf(title: string, isActive: boolean, isCanceled: boolean, isLate: boolean): ReturnWords {
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
      ? 'Stripe has not confirmed this purchase yet. The plan starts after confirmation.'
      : 'Waiting for confirmation from Stripe. This page updates automatically.',
    color: 'blue',
    icon: isLate ? <Icon name="history" /> : <Loader size={18} />,
  };
}
