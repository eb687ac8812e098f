// Why somebody is not let in: in the service's words, and how long to wait in ours.

import { Alert } from '@mantine/core';
import { ApiFailure } from '../api.ts';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';
import { Icon } from './icon.tsx';

export function SignInFailure({ failure }: { failure: unknown }) {
  if (!(failure instanceof ApiFailure) || failure.mayPass) return <FailureNotice failure={failure} />;
  const text = failure.status === 429 ? words.signIn.throttled(failure.retryAfterSeconds) : failure.message;
  return (
    <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert">
      {text}
    </Alert>
  );
}
