// What a page shows in its place where it has nothing else to show: there is no such object, or it could not be had.

import { Button, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ApiFailure } from '../api.ts';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';
import { PageHead } from './page-head.tsx';

interface PageFailureProps {
  failure: unknown;
  onRetry: () => void;
}

export function PageFailure({ failure, onRetry }: PageFailureProps) {
  // An id in the address that is none is answered with 400; objects that are somebody else's are not told from those that are not there.
  if (failure instanceof ApiFailure && (failure.status === 404 || failure.status === 400)) return <MissingPage />;
  return (
    <>
      <PageHead title={words.failure.pageTitle} />
      <FailureNotice failure={failure} onRetry={onRetry} />
    </>
  );
}

export function MissingPage() {
  return (
    <Stack align="flex-start" gap={0}>
      <PageHead title={words.failure.notFoundTitle} />
      <Text mb="md">{words.failure.notFoundText}</Text>
      <Button component={Link} to="/">
        {words.failure.toOverview}
      </Button>
    </Stack>
  );
}
