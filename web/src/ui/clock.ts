import { useEffect, useState } from "react";

/** The time, ms since the epoch, read anew each second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** `0:42`; `3:00:42` where hours are left, `6 d 3:00:42` where days are. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const [days, hours, minutes] = [86_400, 3_600, 60].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = `${hours === 0 ? minutes : `${hours % 24}:${two(minutes % 60)}`}:${two(seconds % 60)}`;
  return days === 0 ? clock : `${days} d ${clock}`;
}
