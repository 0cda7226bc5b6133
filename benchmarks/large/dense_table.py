"""The table of what `benchmarks.large.dense_peers` measured, as docs/large_data.md shows it."""

from typing import Any


def table(found: dict[str, Any]) -> str:
    """Return a line for each program and number of components, and what they ran on."""
    size = found["file_bytes"] / 1e9
    size_words = f"{size:.1f} GB" if size >= 0.1 else f"{1e3 * size:.0f} MB"
    shape = f"{found['samples']:,} x {found['variants']:,}, {size_words}"
    lines = [
        f"| {shape} | components | s | of processors s | walks | peak memory GB | share of λ₁ |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        asked = f"1 of {found['sparsity']:,} variants" if row["sparse"] else f"{row['components']} dense"
        if "skipped" in row:
            lines.append(f"| {row['program']} | {asked} | – | – | – | – | {row['skipped']} |")
            continue
        walks = f"{row['walks']:.1f}" + (f", {row['files_written']:.1f} written" if row["files_written"] > 0.1 else "")
        lines.append(
            f"| {row['program']} | {asked} | {row['seconds']:.1f} | {row['cpu_seconds']:.1f} | {walks} "
            f"| {row['peak_bytes'] / 1e9:.2f} | {row['share']:.5f} |"
        )
    versions = ", ".join(f"{name} {version or 'not installed'}" for name, version in found["versions"].items())
    machine = found["machine"]
    where = f"{machine['processor']}, {machine['cores']} cores, {found['threads']} threads"
    return "\n".join([*lines, "", f"{versions}; {where}; the source of certpca is `{machine['source']}`."])
