/** Time that passes only during a sleep, which runs `onSleep`. */
export function stillTime(onSleep: (slept: number) => unknown = () => undefined) {
  const time = {
    at: 0,
    sleeps: 0,
    now: () => time.at,
    sleep: async (ms: number) => {
      time.at += ms;
      time.sleeps += 1;
      await onSleep(time.sleeps);
    },
  };
  return time;
}
