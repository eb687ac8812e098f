// To be.

export function SettingList() {
  return <p>SettingList</p>;
}
