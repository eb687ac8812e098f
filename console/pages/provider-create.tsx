// To be.

export function ProviderCreate() {
  return <p>ProviderCreate</p>;
}
