//! stub
/// stub
#[derive(clap::Args)]
pub struct Arguments {}
pub fn run(_: &crate::repository::Repository, _: &Arguments) -> anyhow::Result<Vec<String>> {
    Ok(vec![])
}
