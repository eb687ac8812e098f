// Shows the result of a payment to a user who returns from the payment provider's page. The URL names the payment and the
// outcome that the page reported; the status shown comes from the API.

import { Anchor, Loader } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { PaymentShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { paymentStatusLabels } from '../../labels.ts';
import { formatMoney } from '../../money.ts';
import { ActionButton, ExternalLink, Icon } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { ReturnNotice, type ReturnWords, useBoundedPolling } from './return-notice.tsx';

export function PaymentReturn() {
  const { values, set } = useFilters();
  const { payment: id, outcome } = values;
  if (id === undefined) return null;
  return (
    <ReturnedPayment
      key={id}
      id={id}
      isCanceled={outcome === 'canceled'}
      onClose={() => set({ payment: null, outcome: null })}
    />
  );
}

interface ReturnedPaymentProps {
  id: string;
  isCanceled: boolean;
  onClose: () => void;
}

function ReturnedPayment({ id, isCanceled, onClose }: ReturnedPaymentProps) {
  const queries = useQueryClient();
  const { everyMs, isLate, pollAgain, settle } = useBoundedPolling(isCanceled);
  const { data, error } = useGet('/payments/{id}', { id, everyMs });
  const status = data?.status;
  useEffect(() => {
    if (status === undefined || status === 'pending') return;
    settle();
    void queries.invalidateQueries(); // the balance has changed with the payment
  }, [status, queries, settle]);
  if (data === undefined) return <FailureNotice failure={error} title="The payment cannot be shown" />;
  return (
    <ReturnNotice words={wordsOf(data, isCanceled, isLate)} onClose={onClose}>
      {data.receipt_url !== null && (
        <ExternalLink href={data.receipt_url} c="inherit" underline="always">
          Receipt
        </ExternalLink>
      )}
      {isCanceled && data.checkout_url !== null && (
        <Anchor href={data.checkout_url} size="sm" c="inherit" underline="always">
          Continue this payment
        </Anchor>
      )}
      {status === 'pending' && !isCanceled && isLate && (
        <ActionButton label="Check again" size="xs" onClick={pollAgain} />
      )}
    </ReturnNotice>
  );
}

function wordsOf(payment: PaymentShape, isCanceled: boolean, isLate: boolean): ReturnWords {
  const { status, credited, failure, mismatch } = payment;
  const warning = <Icon name="warning" />;
  if (mismatch !== null)
    return {
      title: 'Payment not credited',
      text: `The payment does not match the order: ${mismatch}. Contact the operator of this installation.`,
      color: 'orange',
      icon: warning,
    };
  if (status === 'paid')
    return {
      title: 'Payment received',
      text: `${formatMoney(credited)} was added to the balance.`,
      color: 'teal',
      icon: <Icon name="check" />,
    };
  if (status === 'pending' && isCanceled)
    return { title: 'Payment canceled', text: 'Nothing was charged.', color: 'gray', icon: <Icon name="stop" /> };
  if (status === 'pending')
    return {
      title: 'Payment is being processed',
      text: isLate
        ? 'Stripe has not confirmed this payment yet. Bank payments can take days. The balance is credited after confirmation.'
        : 'Waiting for confirmation from Stripe. This page updates automatically.',
      color: 'blue',
      icon: isLate ? <Icon name="history" /> : <Loader size={18} />,
    };
  if (status === 'failed' || status === 'canceled')
    return {
      title: status === 'failed' ? 'Payment failed' : 'Payment canceled',
      text: failure?.message ?? 'Nothing was charged.',
      color: status === 'failed' ? 'red' : 'gray',
      icon: warning,
    };
  return {
    title: paymentStatusLabels[status],
    text: `${formatMoney(credited)} of this payment is credited.`,
    color: 'yellow',
    icon: warning,
  };
}
