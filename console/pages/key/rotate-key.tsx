// Gives a key another secret; the old one opens it for a while yet.

import { Button, Group, Modal, NativeSelect, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { KeyShape, RotatedKeyShape } from '../../../src/admin-api/shapes.ts';
import { ask } from '../../api.ts';
import { useOnce } from '../../once.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { When } from '../../parts/when.tsx';
import { useChange } from '../../queries.ts';
import { words } from '../../words.ts';

export function RotateKey({ shown }: { shown: KeyShape }) {
  const [isOpen, dialogue] = useDisclosure(false);
  const [rotated, setRotated] = useState<RotatedKeyShape | null>(null);
  const close = () => {
    dialogue.close();
    setRotated(null);
  };
  return (
    <>
      <Button variant="default" onClick={dialogue.open}>
        {words.keys.rotate}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={rotated === null ? words.keys.rotateTitle : words.keys.rotated}
        // A secret that is shown once is not closed by a click beside it.
        closeOnClickOutside={rotated === null}
        closeOnEscape={rotated === null}
        closeButtonProps={{ 'aria-label': words.parts.close }}
        size="lg"
      >
        {rotated === null ? (
          <RotateForm shown={shown} onRotated={setRotated} onCancel={close} />
        ) : (
          <Rotated rotated={rotated} onClose={close} />
        )}
      </Modal>
    </>
  );
}

interface RotateFormProps {
  shown: KeyShape;
  onRotated: (rotated: RotatedKeyShape) => void;
  onCancel: () => void;
}

function RotateForm({ shown, onRotated, onCancel }: RotateFormProps) {
  const [grace, setGrace] = useState('24h');
  const requestOf = useOnce();
  const rotate = useChange(
    (body: object) =>
      ask<RotatedKeyShape>(
        `/keys/${shown.id}/rotate`,
        requestOf(body, () => body),
      ),
    { onDone: onRotated },
  );
  return (
    <Stack>
      <Text size="sm">{words.keys.rotateText}</Text>
      <NativeSelect
        label={words.keys.grace}
        value={grace}
        onChange={({ currentTarget }) => setGrace(currentTarget.value)}
        data={Object.entries(words.keys.graces).map(([value, label]) => ({ value, label }))}
        data-autofocus
      />
      <FailureNotice failure={rotate.error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          {words.parts.cancel}
        </Button>
        <Button loading={rotate.isPending} onClick={() => rotate.mutate({ grace })}>
          {words.keys.rotate}
        </Button>
      </Group>
    </Stack>
  );
}

function Rotated({ rotated, onClose }: { rotated: RotatedKeyShape; onClose: () => void }) {
  return (
    <Stack>
      <SecretOnce secret={rotated.key} label={words.keys.secretLabel} />
      <Text size="sm">
        {words.keys.oldEnds} <When at={rotated.grace_ends_at} isPrecise />
      </Text>
      <Group justify="flex-end">
        <Button onClick={onClose}>{words.parts.secretCopied}</Button>
      </Group>
    </Stack>
  );
}
