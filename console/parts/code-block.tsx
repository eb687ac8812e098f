// Code to copy, a copy button, and a secret that is shown once.

import { Alert, Box, type ButtonProps, Code, Group, Stack, Text } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { ActionButton, Icon } from './link.tsx';

export function CodeBlock({ code, label, heightMaxPx }: { code: string; label?: string; heightMaxPx?: number }) {
  return (
    <Box pos="relative">
      <Box pos="absolute" top={6} right={6} className="no-print">
        <CopyButton text={code} {...(label !== undefined && { label })} />
      </Box>
      <Code
        block
        tabIndex={0}
        pt={44}
        style={{ overflow: 'auto', ...(heightMaxPx !== undefined && { maxHeight: heightMaxPx }) }}
      >
        {code}
      </Code>
    </Box>
  );
}

interface CopyButtonProps extends ButtonProps {
  text: string;
  label?: string;
  onCopied?: () => void;
}

export function CopyButton({ text, label = 'Copy', onCopied, ...button }: CopyButtonProps) {
  const clipboard = useClipboard({ timeout: 2_000 });
  const copy = () => {
    // The clipboard API is available over TLS and on localhost only.
    if (navigator.clipboard === undefined) copyBySelection(text);
    clipboard.copy(text);
    onCopied?.();
  };
  return (
    <ActionButton
      label={clipboard.copied ? 'Copied' : label}
      size="xs"
      icon={clipboard.copied ? 'check' : 'copy'}
      onClick={copy}
      {...button}
    />
  );
}

function copyBySelection(text: string): void {
  const place = document.createElement('textarea');
  place.value = text;
  document.body.append(place);
  place.select();
  document.execCommand('copy');
  place.remove();
}

export function SecretOnce({ secret, label }: { secret: string; label: string }) {
  return (
    <Alert
      color="yellow"
      title={label}
      icon={<Icon name="warning" />}
      // The default color has too little contrast for text.
      styles={{ title: { color: 'var(--mantine-color-text)' }, icon: { color: 'var(--mantine-color-text)' } }}
    >
      <Stack gap="xs">
        <Text size="sm">Copy it now. It is not shown again.</Text>
        <Group gap="xs" align="center">
          <Code fz="sm" className="wrap" data-testid="secret">
            {secret}
          </Code>
          <CopyButton text={secret} />
        </Group>
      </Stack>
    </Alert>
  );
}
