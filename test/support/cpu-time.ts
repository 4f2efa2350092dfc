/** CPU time of this thread that `work` uses, in milliseconds: other processes cannot make it longer. */
export const cpuMsOf = (work: () => void): number => {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};
